import { STREAMS, WorldFailure, wordsOf, type StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { decode } from './envelope.codec.js';

const READ_TIMEOUT_MS = 5_000;
const NOT_FOUND = 404;

/** The newest event on exactly this subject; undefined: there is none that this release knows. */
export const readLast = async (nc: NatsConnection, subject: string): Promise<StoredEvent | undefined> => {
  const failure = (message: string): WorldFailure =>
    new WorldFailure({ operation: 'read the last event', target: subject, message });
  const answer = await nc
    .request(`$JS.API.DIRECT.GET.${STREAMS.events}.${subject}`, undefined, { timeout: READ_TIMEOUT_MS })
    .catch((error: unknown) => {
      throw failure(wordsOf(error));
    });
  const code = answer.headers?.code ?? 0;
  if (code === NOT_FOUND) return undefined;
  if (code !== 0) throw failure(`${code} ${answer.headers?.description ?? ''}`.trim());
  return decode(subject, Number(answer.headers?.last('Nats-Sequence') ?? 0), answer.data);
};
