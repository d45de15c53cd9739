import { REVOCATIONS_FILTER, type StoredEvent } from '@fairlead/contracts';
import { decode, READ_BATCH, readBatch } from '@fairlead/event-sourcing/reader';
import type { NatsConnection } from '@nats-io/transport-node';
import type { RevocationLog } from '../../revocations/revocations.ports.js';

/** A message that is not an event, or not an event of its subject, revokes no user. */
const isRevocation = (event: StoredEvent | undefined): event is StoredEvent<'AgentCredentialsRevoked'> =>
  event?.type === 'AgentCredentialsRevoked';

export const natsLog = (nc: NatsConnection): RevocationLog => ({
  read: async (after) => {
    const batch = await readBatch(nc, REVOCATIONS_FILTER, after, READ_BATCH);
    return {
      events: batch.map(({ subject, seq, bytes }) => decode(subject, seq, bytes)).filter(isRevocation),
      lastSeq: batch.at(-1)?.seq,
      isLast: batch.length < READ_BATCH,
    };
  },
});
