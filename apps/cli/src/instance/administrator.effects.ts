import { isAlive, natsTrustIn, readIfAny } from '@fairlead/embedded';
import { authenticatorOf, natsServers } from '@fairlead/embedded/credentials';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CliFailure, wordsOf } from '../failures.js';
import { readInstance } from './instance.store.js';

/** How to connect to NATS as its administrator. */
export interface NatsSettings {
  readonly dataDir: string;
  /** undefined: the NATS of the instance in the data folder. */
  readonly nats: string | undefined;
  /** undefined: keys/nats-ca.pem of the data folder, for a tls:// address. */
  readonly natsCa: string | undefined;
}

export const connectAsAdministrator = async (settings: NatsSettings): Promise<NatsConnection> => {
  const { dataDir } = settings;
  const url = settings.nats ?? natsOfInstance(dataDir);
  const credsFile = join(dataDir, 'creds', 'admin.creds');
  const creds = readIfAny(credsFile);
  if (creds === undefined) throw notProvisioned(credsFile);
  const own = join(dataDir, 'keys', 'nats-ca.pem');
  const caFile = settings.natsCa ?? (url.startsWith('tls:') && existsSync(own) ? own : undefined);
  try {
    return await connect({
      servers: [...natsServers(url)],
      name: 'fairlead-administrator',
      reconnect: false,
      authenticator: authenticatorOf(creds),
      ...natsTrustIn(caFile, natsServers(url)),
    });
  } catch (error) {
    throw new CliFailure('unreachable', {
      code: 'cli.nats-unreachable',
      message: `NATS at ${url} cannot be used with ${credsFile}: ${wordsOf(error)}`,
      help: 'The sealed keys are in NATS, so it must run; services may run or not.',
      cause: error,
    });
  }
};

/** undefined if none is given and no instance runs in the folder. */
export const natsIn = ({ dataDir, nats }: Pick<NatsSettings, 'dataDir' | 'nats'>): string | undefined => {
  if (nats !== undefined) return nats;
  const instance = readInstance(dataDir);
  return instance !== undefined && isAlive(instance.process) ? instance.natsUrl : undefined;
};

export const natsOfInstance = (dataDir: string): string => {
  const url = natsIn({ dataDir, nats: undefined });
  if (url !== undefined) return url;
  throw new CliFailure('usage', {
    code: 'cli.nats-unknown',
    message: `Fairlead is not running in ${dataDir}, and --nats is not given`,
    help: 'The sealed keys are in NATS, so it must run: start Fairlead (fairlead up), or give --nats.',
  });
};

export const notProvisioned = (file: string): CliFailure =>
  new CliFailure('not-found', {
    code: 'cli.not-provisioned',
    message: `There is no ${file}`,
    help: 'Name the data folder that has the keys of this installation.',
  });
