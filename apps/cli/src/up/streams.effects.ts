import { readFileSync } from 'node:fs';
import { ensureStreams } from '@fairlead/event-sourcing/streams';
import { authenticatorOf } from '@fairlead/embedded/credentials';
import { connect } from '@nats-io/transport-node';

/** Makes the streams, with the administrator's rights, before the first service asks for them. */
export const provideStreams = async (natsUrl: string, adminCredsFile: string | undefined): Promise<void> => {
  const connection = await connect({
    servers: natsUrl,
    name: 'fairlead-up',
    ...(adminCredsFile === undefined ? {} : { authenticator: authenticatorOf(readFileSync(adminCredsFile, 'utf8')) }),
  });
  try {
    await ensureStreams(connection);
  } finally {
    await connection.close();
  }
};
