import { join } from 'node:path';
import {
  ensureCertificates,
  ensureCredentials,
  ensureSuperuserPassword,
  natsConfig,
  openDataFolder,
  readIfAny,
  writeWhole,
  type NatsCluster,
} from '@fairlead/embedded';
import { newToken } from '@fairlead/embedded/credentials';
import { CliFailure } from '../failures.js';
import { ensureKeys } from '../up/keys.store.js';
import { HOLDERS } from './holders.planner.js';
import { handOut } from './holders.store.js';
import type { KeysSettings } from './provision.settings.js';

/** The names for callers on the same machine, such as health checks. */
const LOCAL_NAMES = ['localhost', '127.0.0.1'];

/**
 * Creates missing files and keeps existing ones. Returns a sentence with the locations. Throws an `EnvironmentFault`.
 */
export const provideKeys = async (settings: KeysSettings): Promise<string> => {
  const { dataDir, secretsDir, natsHost, natsPort, natsWebsocketPort, natsNames, natsCluster } = settings;
  const { monitorHost, monitorPort, storeDir } = settings;
  const isCluster = natsCluster.length > 0;
  const configFile = join(dataDir, 'nats.conf');
  const folder = openDataFolder(dataDir);
  try {
    refuseOtherKind(readIfAny(configFile), settings);
    ensureKeys(dataDir);
    ensureSuperuserPassword(dataDir);
    if (settings.administratorToken) ensureAdministratorToken(dataDir);
    await ensureCertificates(dataDir, [...LOCAL_NAMES, ...natsNames, ...natsCluster], { isPeer: isCluster });
    const config = natsConfig({
      host: natsHost,
      port: natsPort,
      ...(natsWebsocketPort === undefined ? {} : { websocketPort: natsWebsocketPort }),
      monitorHost,
      monitorPort,
      storeDir: isCluster ? join(storeDir, CLUSTER_STORE) : storeDir,
      certificateFile: join(secretsDir, 'nats', 'nats-server.pem'),
      ...(isCluster ? { cluster: clusterOf(settings) } : {}),
      auth: ensureCredentials(dataDir),
    });
    if (readIfAny(configFile) !== config) writeWhole(configFile, config);
    handOut(settings, HOLDERS);
    return `All keys and NATS credentials are in ${dataDir}, and what each of ${HOLDERS.join(', ')} needs is in its folder in ${secretsDir}; ${startText(settings)}.`;
  } finally {
    folder.release();
  }
};

/** The gateway admits the token in its file, and creates it only where there is none. */
const ensureAdministratorToken = (dataDir: string): void => {
  const file = join(dataDir, 'keys', 'local.token');
  if (readIfAny(file) === undefined) writeWhole(file, `${newToken().token}\n`);
};

/**
 * Half a minute after its start, a server in a cluster deletes the streams of a single server that it finds in its
 * folder, because no other server knows them. So a cluster has its own folder, and a single server cannot become a
 * cluster.
 */
const CLUSTER_STORE = 'cluster';

const refuseOtherKind = (config: string | undefined, { dataDir, natsCluster }: KeysSettings): void => {
  if (config === undefined) return;
  const wasCluster = /^cluster \{$/m.test(config);
  if (wasCluster === natsCluster.length > 0) return;
  throw new CliFailure('conflict', {
    code: 'cli.nats-kind',
    message: wasCluster
      ? `NATS of ${dataDir} is a cluster: a single server would not have its streams`
      : `NATS of ${dataDir} is a single server: a cluster would not have its streams`,
    help: 'Hand the installation over to one in another data folder (docs/handover.md). If NATS was never started, remove nats.conf from the data folder instead.',
  });
};

const clusterOf = ({ secretsDir, natsCluster, natsClusterPort }: KeysSettings): NatsCluster => ({
  hosts: natsCluster,
  port: natsClusterPort,
  caFile: join(secretsDir, 'nats', 'nats-ca.pem'),
});

const startText = ({ secretsDir, natsCluster }: KeysSettings): string => {
  const config = join(secretsDir, 'nats', 'nats.conf');
  if (natsCluster.length === 0) return `start NATS with ${config}`;
  return `start NATS on each of ${natsCluster.join(', ')} with ${config} and a --name of its own`;
};
