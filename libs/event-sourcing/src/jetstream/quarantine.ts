import { isRefusal, type Fact } from '@fairlead/contracts';
import type { Command, Decider } from '../decider.js';
import type { Handle } from '../handle.js';
import type { Poison } from '../projection.js';

type Quarantined = Fact<'ClusterQuarantined'>;
type AnnounceQuarantined = Command<'AnnounceQuarantined', Quarantined['data']>;

/** The event at which each consumer of the service was last quarantined: announcing it is idempotent. */
const quarantine: Decider<ReadonlyMap<string, number>, AnnounceQuarantined, Quarantined> = {
  initial: new Map(),
  decide: (last, { data }) => (last.get(data.consumer) === data.eventSeq ? [] : [{ type: 'ClusterQuarantined', data }]),
  evolve: (last, event) =>
    event.type === 'ClusterQuarantined' ? new Map(last).set(event.data.consumer, event.data.eventSeq) : last,
};

const ERROR_LENGTH_MAX = 500;

/** Announces a quarantined cluster: the row is for the service itself, the event is for operators. */
export const announceQuarantined =
  (service: string, handle: Handle) =>
  async (consumer: string, poison: Poison): Promise<void> => {
    const [namespace = '', cluster = ''] = poison.clusterKey.split('/');
    const error = (poison.error.split('\n')[0] ?? '').slice(0, ERROR_LENGTH_MAX);
    const command: AnnounceQuarantined = {
      type: 'AnnounceQuarantined',
      data: { service, consumer, eventSeq: poison.seq, eventId: poison.eventId, error },
    };
    const cause = { actor: `system/${service}`, correlationId: poison.eventId, causationId: poison.eventId };
    const outcome = await handle(quarantine, { namespace, cluster, context: `quarantine-${service}` }, command, cause);
    if (isRefusal(outcome)) throw new Error(outcome.message);
  };
