import type { JobContext, JobLater } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { Locks } from '../locks/locks.ports.js';
import { LOCKS } from '../tokens.js';
import type { ClusterJob, Work } from './machines.log.effects.js';
import { Requests } from './requests.effects.js';

const TAKEN_AGAIN_MS = 1_000;

/** One job at a time for each cluster, over all replicas: a deletion never meets a creation, nor a job its own twin. */
@Injectable()
export class ClusterTurns {
  constructor(
    @Inject(LOCKS) private readonly locks: Locks,
    @Inject(Requests) private readonly requests: Requests,
  ) {}

  /** Like alone; and when the cluster must be deleted meanwhile, the work ends, and counts as done. */
  whileDesired<J extends ClusterJob>(
    job: J,
    context: JobContext,
    run: (work: Work<J>) => Promise<JobLater | undefined>,
  ): Promise<JobLater | undefined> {
    return this.alone(job, context, (work) =>
      this.requests.whileDesired(job, work.signal, (signal) => run({ ...work, signal })),
    );
  }

  /** A job that finds another at its cluster comes back later. */
  async alone<J extends ClusterJob>(
    job: J,
    context: JobContext,
    run: (work: Work<J>) => Promise<JobLater | undefined>,
  ): Promise<JobLater | undefined> {
    const later = (delayMs: number, reason: string): JobLater => context.later(delayMs, reason);
    const held = await this.locks.hold(`cluster/${job.namespace}/${job.cluster}`, 0, (signal) =>
      run({ job, signal: AbortSignal.any([context.signal, signal]), later }),
    );
    return held.kind === 'held' ? held.result : later(TAKEN_AGAIN_MS, 'another job has the cluster');
  }
}
