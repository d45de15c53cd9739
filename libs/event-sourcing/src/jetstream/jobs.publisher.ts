import { jobSubject, type StoredEvent } from '@fairlead/contracts';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { createHash } from 'node:crypto';
import type { Caused, DueTimer, JobReaction } from '../process.js';
import type { Origin } from '../reconciler.js';
import type { Cause } from '../store.js';
import type { Job } from './decorators.js';

const PUBLISH_TIMEOUT_MS = 10_000;
/** The server counts headers, too. */
const HEADERS_ROOM = 1_024;

/** The same question always has the same id, so that asking it twice within the duplicate window queues it once. */
const idOf = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(parts.join('\u0000')).digest('hex').slice(0, 32);

export const jobOf = (service: string, process: string, { reaction, event, index }: Caused<JobReaction>): Job => ({
  // The id of an event is its writer's choice; its place in the log is not.
  id: idOf(service, process, event.meta.id, event.meta.seq, index),
  type: reaction.type,
  namespace: event.meta.namespace,
  cluster: event.meta.cluster,
  cause: { actor: `system/${service}`, correlationId: event.meta.correlationId, causationId: event.meta.id },
  data: reaction.data,
});

/** A task as the event asked for it since which it is desired: the same job as `jobOf` makes of that event. */
export const jobOfTask = (
  { service, process, clusterKey }: { readonly service: string; readonly process: string; readonly clusterKey: string },
  { eventId, correlationId, seq, index }: Origin,
  reaction: JobReaction,
): Job => {
  const [namespace = '', cluster = ''] = clusterKey.split('/');
  return {
    id: idOf(service, process, eventId, seq, index),
    type: reaction.type,
    namespace,
    cluster,
    cause: { actor: `system/${service}`, correlationId, causationId: eventId },
    data: reaction.data,
  };
};

export interface TimerOrigin {
  readonly clusterKey: string;
  readonly cause: Pick<Cause, 'correlationId' | 'causationId'>;
}

export const causeOfTimer = (event: StoredEvent): TimerOrigin['cause'] => ({
  correlationId: event.meta.correlationId,
  causationId: event.meta.id,
});

export const jobOfTimer = (
  at: { readonly service: string; readonly process: string; readonly index: number },
  timer: DueTimer & TimerOrigin,
  reaction: JobReaction,
): Job => {
  const [namespace = '', cluster = ''] = timer.clusterKey.split('/');
  return {
    id: idOf(at.service, at.process, timer.clusterKey, timer.key, timer.dueAt, at.index),
    type: reaction.type,
    namespace,
    cluster,
    cause: { actor: `system/${at.service}`, ...timer.cause },
    data: reaction.data,
  };
};

/** Resolves when the work queue has stored the job. */
export const publishJob = async (nc: NatsConnection, service: string, job: Job): Promise<void> => {
  const header = headers();
  header.set('Nats-Msg-Id', job.id);
  const text = JSON.stringify(job);
  const limit = nc.info?.max_payload ?? Infinity;
  if (Buffer.byteLength(text) + HEADERS_ROOM > limit)
    throw new RangeError(`the job ${job.type} takes more than the ${limit} bytes of a message`);
  const answer = await nc.request(jobSubject(service, job.type), text, {
    headers: header,
    timeout: PUBLISH_TIMEOUT_MS,
  });
  const { error } = answer.json<{ error?: { description?: string } }>();
  if (error !== undefined) throw new Error(`cannot queue the job ${job.type}: ${error.description ?? 'unknown error'}`);
};
