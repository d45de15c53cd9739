import { isRefusal } from '@fairlead/contracts';
import {
  OnJob,
  type Handle,
  type Job,
  type JobFailure,
  type RecordJobFailure,
} from '@fairlead/event-sourcing/jetstream';
import { HANDLE } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { bootstrap } from './bootstrap.decider.js';
import type { Failure } from './bootstrap.state.js';
import { reasonOf } from './reasons.js';
import { streamOf, type StepData } from './step.runner.js';

interface FailData extends StepData {
  readonly failure: Failure;
}

/** What infra-svc or a deadline says of a cluster becomes its state. */
@Controller()
export class FailuresEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  @OnJob<FailData>('FailCluster', { attemptsMax: 50, backoffFirstMs: 250, timeoutMs: 60_000 })
  async failCluster(job: Job<FailData>): Promise<void> {
    const { uid, run, failure } = job.data;
    const decided = await this.handle(
      bootstrap,
      streamOf(job),
      { type: 'FailCluster', data: { uid, run, failure } },
      job.cause,
    );
    if (isRefusal(decided)) throw new Error(decided.message);
  }
}

/** Every attempt that failed becomes an event; the last one makes the cluster Failed, in the same decision. */
export const makeRecordFailure =
  (handle: Handle): RecordJobFailure =>
  async (job: Job, failure: JobFailure) => {
    const { uid, run, step, node } = job.data as StepData;
    if (uid === undefined) return;
    const { cause, attempt, attemptsMax, nextAttemptAt } = failure;
    const where = { uid, run, step, ...(node === undefined ? {} : { node }) };
    const reason = reasonOf(step, cause.operation);
    const decided = await handle(
      bootstrap,
      streamOf(job),
      { type: 'RecordFailure', data: { ...where, reason, cause, attempt, attemptsMax, nextAttemptAt } },
      job.cause,
    );
    if (isRefusal(decided)) throw new Error(decided.message);
  };
