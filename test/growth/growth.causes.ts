import type { EventData, StoredEvent } from '@fairlead/contracts';
import { replacedIn, replacementIn } from '@fairlead/domain';
import { SEEN, USER } from './growth.parts.js';

type Log = readonly StoredEvent[];

const EVENT_ID = /^event-(\d+)$/u;

/**
 * The event, and all of its causes, nearest first. The id of an event in a simulation contains its position in the log.
 */
export const chainOf = (log: Log, event: StoredEvent): Log => {
  const chain = [event];
  for (;;) {
    const { seq, causationId } = chain.at(-1)!.meta;
    const [, place] = EVENT_ID.exec(causationId) ?? [];
    if (place === undefined) return chain;
    const cause = log[Number(place) - 1];
    if (cause === undefined || cause.meta.seq >= seq) throw new Error(`${causationId} cannot have led to event ${seq}`);
    chain.push(cause);
  }
};

const asksFor =
  ({ requestId, machines }: EventData<'VmsPlanned'>) =>
  (event: StoredEvent): boolean => {
    if (machines.some(({ surge }) => surge !== undefined)) return event.type === 'SurgeRequested';
    if (requestId === undefined) return event.type === 'ClusterRequested';
    return (
      (event.type === 'NodesRequested' && event.data.requestId === requestId) ||
      replacementIn(event)?.requestId === requestId
    );
  };

const lets =
  (node: string) =>
  (event: StoredEvent): boolean => {
    switch (event.type) {
      case 'ClusterDeletionRequested':
        return true;
      case 'NodeRemovalRequested':
        return event.data.node === node;
      case 'NodesAbandoned':
      case 'NodesFailed':
      case 'SurgeReleased':
        return event.data.nodes.some((one) => one === node);
      case 'VmsFailed':
        return event.data.machines.some((one) => one === node);
      default:
        return replacedIn(event) === node;
    }
  };

/** Matches the request behind the creation, deletion or replacement of a machine; undefined: another kind of event. */
const askedBy = (event: StoredEvent): ((other: StoredEvent) => boolean) | undefined => {
  switch (event.type) {
    case 'VmsPlanned':
      return asksFor(event.data);
    case 'NodeReplacementPlanned': {
      const { rollout } = event.data;
      return (other) =>
        (other.type === 'PoolRolloutRequested' || other.type === 'PoolReplacementRequested') &&
        other.data.requestId === rollout;
    }
    case 'VmDeleted':
      return lets(event.data.name);
    default:
      return undefined;
  }
};

/** Whether a request states its reason and the difference. */
const saysWhy = (event: StoredEvent): boolean => {
  switch (event.type) {
    case 'NodeReplacementPlanned':
      return event.data.reason !== '';
    case 'VmsFailed':
    case 'NodesFailed':
      return event.data.cause.message !== '';
    default:
      return true;
  }
};

const endsAtRequest = (log: Log, event: StoredEvent): boolean => {
  const { actor, causationId } = chainOf(log, event).at(-1)!.meta;
  return [USER, SEEN].includes(actor) && causationId.startsWith(actor);
};

/**
 * Why the log does not explain this creation, deletion or replacement of a machine; undefined: it does, or the event is
 * of another kind.
 */
export const unexplained = (log: Log, event: StoredEvent): string | undefined => {
  const isAsker = askedBy(event);
  if (isAsker === undefined) return undefined;
  if (!endsAtRequest(log, event)) return 'its causes do not end at a request';
  const asker = log.slice(0, event.meta.seq - 1).findLast(isAsker);
  if (asker === undefined) return 'nothing before it asks for it';
  if (!endsAtRequest(log, asker)) return `the causes of ${asker.type}, which asks for it, do not end at a request`;
  return saysWhy(event) && saysWhy(asker) ? undefined : 'it does not say why';
};
