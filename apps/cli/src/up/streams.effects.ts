import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HandoverRecord } from '@fairlead/contracts';
import { ensureStreams, readLogState, TooFewServers, type StoreReport } from '@fairlead/event-sourcing/streams';
import { natsTrustIn, type NatsAccess } from '@fairlead/embedded';
import { authenticatorOf, natsServers } from '@fairlead/embedded/credentials';
import { connect } from '@nats-io/transport-node';
import { CliFailure } from '../failures.js';
import { provideOwnerKeys } from '../instance/owner.keys.store.js';

export interface ProvidedStreams {
  readonly stores: readonly StoreReport[];
  /** Who holds the log, if it was handed over. */
  readonly handover: HandoverRecord | undefined;
}

/**
 * Makes the streams, with the administrator's rights, before the first service asks for them, and brings the keys of secrets that a restored backup has in
 * `keys/owner-keys.json` of the data folder. Throws a `CliFailure` where there are secrets without keys, or NATS has too few servers for the replicas.
 */
export const provideStreams = async (
  { url, credsFile, caFile }: Pick<NatsAccess, 'url' | 'credsFile' | 'caFile'>,
  dataDir: string,
  replicas?: number,
): Promise<ProvidedStreams> => {
  const adminFile = credsFile('admin');
  const connection = await connect({
    servers: [...natsServers(url)],
    name: 'fairlead-up',
    ...natsTrustIn(caFile, natsServers(url)),
    ...(adminFile === undefined ? {} : { authenticator: authenticatorOf(readFileSync(adminFile, 'utf8')) }),
  });
  try {
    const stores = await ensureStreams(connection, { replicas });
    await provideOwnerKeys(connection, join(dataDir, 'keys', 'owner-keys.json'));
    return { stores, handover: (await readLogState(connection)).record };
  } catch (error) {
    throw error instanceof TooFewServers ? tooFew(error) : error;
  } finally {
    await connection.close();
  }
};

const tooFew = (error: TooFewServers): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.too-few-nats-servers',
    message: `The stores cannot be replicated: ${error.message}`,
    help: 'Start more servers of the NATS cluster, or ask for fewer --replicas. See "Replicas of the log" in docs/running.md.',
    cause: error,
  });
