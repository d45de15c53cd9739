import type { NodeSet, Refusal } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { VALIDATION } from '../tokens.js';
import type { Validation } from '../validation/validation.ports.js';
import type { NodesRequest } from './additions.js';
import type { Held } from './machines.decider.js';
import { clusterOf, MachinesLog, type Work } from './machines.log.effects.js';

/** Accepts or rejects what was asked for, before anything is made. */
@Injectable()
export class Admission {
  constructor(
    @Inject(MachinesLog) private readonly log: MachinesLog,
    @Inject(VALIDATION) private readonly validation: Validation,
  ) {}

  async cluster({ job, signal }: Work): Promise<void> {
    const state = await this.log.look(job);
    if (state.status !== 'requested') return;
    const { uid } = state.held;
    const refusal = await this.validation.cluster(clusterOf(job, state.held), job.cause, signal);
    await this.log.record(
      job,
      refusal === undefined ? { type: 'Accept', data: { uid } } : { type: 'Reject', data: { uid, refusal } },
    );
  }

  /** False: the request is rejected, and the cluster is as it was. */
  async workers({ job, signal }: Work, held: Held, { requestId, workers }: NodesRequest): Promise<boolean> {
    const refusal = await this.refusal({ job, signal }, held, workers, requestId);
    if (refusal === undefined) return true;
    await this.log.record(job, { type: 'RejectNodes', data: { uid: held.uid, requestId, refusal } });
    return false;
  }

  /** Why a cluster cannot have these workers too. */
  refusal(
    { job, signal }: Pick<Work, 'job' | 'signal'>,
    held: Held,
    workers: readonly NodeSet[],
    requestId?: string,
  ): Promise<Refusal | undefined> {
    const desired = { ...clusterOf(job, held), ...(requestId === undefined ? {} : { requestId }) };
    return this.validation.workers(desired, workers, job.cause, signal);
  }
}
