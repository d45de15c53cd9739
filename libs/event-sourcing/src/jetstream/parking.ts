import { isRefusal, type Fact } from '@fairlead/contracts';
import type { Command, Decider } from '../decider.js';
import type { Handle } from '../handle.js';
import type { Poison } from '../projection.js';

type Parked = Fact<'ClusterParked'>;
type AnnounceParked = Command<'AnnounceParked', Parked['data']>;

/** Which event each consumer of the service was parked at last: saying so twice is saying so once. */
const parking: Decider<ReadonlyMap<string, number>, AnnounceParked, Parked> = {
  initial: new Map(),
  decide: (last, { data }) => (last.get(data.consumer) === data.eventSeq ? [] : [{ type: 'ClusterParked', data }]),
  evolve: (last, event) =>
    event.type === 'ClusterParked' ? new Map(last).set(event.data.consumer, event.data.eventSeq) : last,
};

const ERROR_LENGTH_MAX = 500;

/** Makes a parked cluster visible to everybody: the row is the service's own, the event is for operators. */
export const announceParked =
  (service: string, handle: Handle) =>
  async (consumer: string, poison: Poison): Promise<void> => {
    const [namespace = '', cluster = ''] = poison.clusterKey.split('/');
    const error = (poison.error.split('\n')[0] ?? '').slice(0, ERROR_LENGTH_MAX);
    const command: AnnounceParked = {
      type: 'AnnounceParked',
      data: { service, consumer, eventSeq: poison.seq, eventId: poison.eventId, error },
    };
    const cause = { actor: `system/${service}`, correlationId: poison.eventId, causationId: poison.eventId };
    const outcome = await handle(parking, { namespace, cluster, context: `parked-${service}` }, command, cause);
    if (isRefusal(outcome)) throw new Error(outcome.message);
  };
