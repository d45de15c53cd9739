import { readFileSync } from 'node:fs';
import { ensureStreams } from '@fairlead/event-sourcing/streams';
import { natsTrustIn, type NatsAccess } from '@fairlead/embedded';
import { authenticatorOf } from '@fairlead/embedded/credentials';
import { connect } from '@nats-io/transport-node';

/** Makes the streams, with the administrator's rights, before the first service asks for them. */
export const provideStreams = async ({
  url,
  credsFile,
  caFile,
}: Pick<NatsAccess, 'url' | 'credsFile' | 'caFile'>): Promise<void> => {
  const adminFile = credsFile('admin');
  const connection = await connect({
    servers: url,
    name: 'fairlead-up',
    ...natsTrustIn(caFile, [url]),
    ...(adminFile === undefined ? {} : { authenticator: authenticatorOf(readFileSync(adminFile, 'utf8')) }),
  });
  try {
    await ensureStreams(connection);
  } finally {
    await connection.close();
  }
};
