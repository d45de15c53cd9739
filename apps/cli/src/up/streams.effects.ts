import { readFileSync } from 'node:fs';
import { ensureStreams } from '@fairlead/event-sourcing/streams';
import { connect, credsAuthenticator } from '@nats-io/transport-node';

/** Makes the streams, with the administrator's rights, before the first service asks for them. */
export const provideStreams = async (natsUrl: string, adminCredsFile: string | undefined): Promise<void> => {
  const connection = await connect({
    servers: natsUrl,
    name: 'fairlead-up',
    ...(adminCredsFile === undefined ? {} : { authenticator: credsAuthenticator(readFileSync(adminCredsFile)) }),
  });
  try {
    await ensureStreams(connection);
  } finally {
    await connection.close();
  }
};
