import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HandoverRecord } from '@fairlead/contracts';
import { ensureStreams, readLogState } from '@fairlead/event-sourcing/streams';
import { natsTrustIn, type NatsAccess } from '@fairlead/embedded';
import { authenticatorOf } from '@fairlead/embedded/credentials';
import { connect } from '@nats-io/transport-node';
import { provideOwnerKeys } from '../instance/owner.keys.store.js';

/**
 * Makes the streams, with the administrator's rights, before the first service asks for them, and brings the keys of secrets that a restored backup has in
 * `keys/owner-keys.json` of the data folder. Answers who holds the log, if it was handed over. Throws a `CliFailure` where there are secrets without keys.
 */
export const provideStreams = async (
  { url, credsFile, caFile }: Pick<NatsAccess, 'url' | 'credsFile' | 'caFile'>,
  dataDir: string,
): Promise<HandoverRecord | undefined> => {
  const adminFile = credsFile('admin');
  const connection = await connect({
    servers: url,
    name: 'fairlead-up',
    ...natsTrustIn(caFile, [url]),
    ...(adminFile === undefined ? {} : { authenticator: authenticatorOf(readFileSync(adminFile, 'utf8')) }),
  });
  try {
    await ensureStreams(connection);
    await provideOwnerKeys(connection, join(dataDir, 'keys', 'owner-keys.json'));
    return (await readLogState(connection)).record;
  } finally {
    await connection.close();
  }
};
