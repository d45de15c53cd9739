import type { ClusterUid, Namespace } from '@fairlead/contracts';
import { HANDLE, type Handle, type Job, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { orRetry } from '../outcome.effects.js';
import { machines, type Held, type Machines, type MachinesCommand } from './machines.decider.js';
import type { ClusterRef } from './machines.planner.js';

/** What the jobs about a cluster are told. */
export type ClusterJob = Job<{ readonly uid: ClusterUid }>;

/** A job that has its cluster to itself. */
export interface Work<J extends ClusterJob = ClusterJob> {
  readonly job: J;
  /** Aborts when the service stops, the time is over, or someone else may have the cluster. */
  readonly signal: AbortSignal;
  later(delayMs: number, reason: string): JobLater;
}

export const clusterOf = (job: ClusterJob, { uid, spec }: Held): ClusterRef => ({
  namespace: job.namespace as Namespace,
  uid,
  spec,
});

/** The log of a cluster's machines, as its jobs see and write it. */
@Injectable()
export class MachinesLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** Where the cluster is now; absent also when a job is about an incarnation that is over. */
  async look(job: ClusterJob): Promise<Machines> {
    const state = await this.record(job, { type: 'Look', data: { uid: job.data.uid } });
    return state.status !== 'absent' && state.held.uid === job.data.uid ? state : machines.initial;
  }

  async record(job: ClusterJob, command: MachinesCommand): Promise<Machines> {
    const { namespace, cluster, cause } = job;
    const stream = { namespace, cluster, context: 'machines' };
    return orRetry(await this.handle(machines, stream, command, cause), `${namespace}/${cluster}`).state;
  }
}
