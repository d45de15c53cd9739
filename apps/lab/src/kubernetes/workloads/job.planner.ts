import { timeOf } from '../clock/clock.js';
import { again, create, event, remove, replace, type Operation } from '../operations/operation.js';
import { isActive, isReady, isTerminal, type Pod } from '../objects/core.types.js';
import { conditionOf, withCondition, type Condition } from '../objects/kube.object.js';
import type { Job } from '../objects/workload.types.js';
import { JOBS, PODS } from '../resources/builtin.resources.js';
import { podFromTemplate } from './pod.template.js';

export interface JobWorld {
  readonly job: Job;
  /** The pods that it controls. */
  readonly pods: readonly Pod[];
  readonly now: string;
  readonly nowMs: number;
}

/** Pods that run to completion, until enough have succeeded or too many have failed. */
export const planJob = (world: JobWorld): readonly Operation[] => {
  const { job, pods, now } = world;
  if (job.metadata.deletionTimestamp !== undefined) return [];
  const finished = finishedAt(job);
  if (finished !== undefined) return afterwards(world, finished);
  const active = pods.filter(isActive);
  const succeeded = pods.filter(({ status }) => status?.phase === 'Succeeded').length;
  const failed = pods.filter(({ status }) => status?.phase === 'Failed').length;
  const { parallelism = 1, completions, backoffLimit = 6, suspend } = job.spec;
  const verdict = verdictOf({ completions, succeeded, failed, backoffLimit, active: active.length });
  const desired =
    verdict !== undefined || suspend === true
      ? 0
      : Math.min(parallelism, completions === undefined ? parallelism : completions - succeeded);
  const status = {
    ...job.status,
    startTime: job.status?.startTime ?? now,
    active: verdict === undefined ? active.length : 0,
    ready: active.filter(isReady).length,
    succeeded,
    failed,
    ...(verdict?.type === 'Complete' ? { completionTime: now } : {}),
    ...(verdict === undefined
      ? {}
      : { conditions: withCondition(job.status?.conditions, { ...verdict, lastTransitionTime: now }) }),
  };
  return [
    ...missing(job, desired - active.length),
    ...active.slice(desired).map((pod) => remove(PODS, pod, 'the job needs it no longer')),
    replace(JOBS, { ...job, status }, 'the status follows the pods'),
    ...(verdict?.type === 'Complete' ? [event(job, 'Completed', 'Job completed')] : []),
  ];
};

interface Score {
  readonly completions: number | undefined;
  readonly succeeded: number;
  readonly failed: number;
  readonly backoffLimit: number;
  readonly active: number;
}

const verdictOf = ({ completions, succeeded, failed, backoffLimit, active }: Score): Condition | undefined => {
  if (failed > backoffLimit) {
    return {
      type: 'Failed',
      status: 'True',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  }
  const complete = completions === undefined ? succeeded > 0 && active === 0 : succeeded >= completions;
  return complete
    ? {
        type: 'Complete',
        status: 'True',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
};

const missing = (job: Job, count: number): readonly Operation[] =>
  Array.from({ length: Math.max(0, count) }, () =>
    create(PODS, podFromTemplate(job, job.spec.template), 'the job has work left'),
  );

const finishedAt = (job: Job): string | undefined =>
  (conditionOf(job, 'Complete') ?? conditionOf(job, 'Failed'))?.lastTransitionTime;

const afterwards = ({ job, pods, nowMs }: JobWorld, finished: string): readonly Operation[] => {
  const leftovers = pods
    .filter((pod) => isActive(pod) && !isTerminal(pod))
    .map((pod) => remove(PODS, pod, 'the job is over'));
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined) return leftovers;
  const dueMs = timeOf(finished) + ttlSecondsAfterFinished * 1000;
  return [...leftovers, dueMs <= nowMs ? remove(JOBS, job, 'its time after the end is over') : again(dueMs)];
};
