import type { StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { readLastOfEach } from './direct.reader.js';
import { decode } from './envelope.codec.js';

/**
 * The newest event on each subject that matches one of the filters, oldest first; unknown types are omitted. Rejects
 * with ExternalFailure while the log is unreachable.
 */
export const readNewest = async (nc: NatsConnection, filters: readonly string[]): Promise<readonly StoredEvent[]> => {
  const found = await readLastOfEach(nc, filters);
  return found.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []);
};
