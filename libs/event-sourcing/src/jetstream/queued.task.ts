import { createHash } from 'node:crypto';
import type { TaskReaction } from '../process.js';
import type { Origin, TaskRef } from '../reconciler.js';
import type { QueuedTask } from './decorators.js';

/**
 * The same for every attempt, in every replica. The id of an event is chosen by its writer; its position in the log is
 * not.
 */
const idOf = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join('\u0000')).digest('hex').slice(0, 32);

/** A task that became desired, as it is queued. */
export const queuedTaskOf = (
  { service, process, clusterKey }: { readonly service: string; readonly process: string; readonly clusterKey: string },
  { eventId, correlationId, seq, now, index }: Origin,
  reaction: TaskReaction,
): QueuedTask => {
  const [namespace = '', cluster = ''] = clusterKey.split('/');
  return {
    id: idOf(service, process, eventId, seq, now, index),
    type: reaction.type,
    namespace,
    cluster,
    cause: { actor: `system/${service}`, correlationId, causationId: eventId },
    data: reaction.data as TaskRef,
  };
};
