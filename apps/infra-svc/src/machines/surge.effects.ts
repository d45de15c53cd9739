import type { ClusterUid, NodeSet, UpgradeId } from '@fairlead/contracts';
import { OnJob, type Job, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { Admission } from './admission.effects.js';
import { ClusterTurns } from './cluster.turns.effects.js';
import { Creation } from './creation.effects.js';
import { Deletion } from './deletion.effects.js';
import { DELETING, MAKING } from './job.policies.js';
import { missingOf, type Machines } from './machines.decider.js';
import { MachinesLog, type Work } from './machines.log.effects.js';
import { likeOf, planSurge } from './machines.planner.js';
import { SiteSurvey } from './sites.effects.js';
import { isDesiredSurge, surgeKey, surgeLacks, surgeRefused, type SurgeRef } from './surges.js';

type OfSurge = { readonly uid: ClusterUid; readonly upgradeId: UpgradeId; readonly pool: string };
type OfReturn = OfSurge & { readonly deadline: string };
type Present = Exclude<Machines, { readonly status: 'absent' }>;

const isDesired = (state: Machines, ref: SurgeRef): state is Present =>
  state.status !== 'absent' && state.status !== 'leaving' && isDesiredSurge(state.held.surges, ref);

/** Makes extra machines. What hinders them is said, and hurts nothing else of the cluster. */
@Injectable()
export class SurgeCreation {
  constructor(
    @Inject(MachinesLog) private readonly log: MachinesLog,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(SiteSurvey) private readonly sites: SiteSurvey,
    @Inject(Creation) private readonly creation: Creation,
  ) {}

  async make(work: Work, ref: SurgeRef): Promise<undefined> {
    const { job } = work;
    const { uid } = job.data;
    const state = await this.log.look(job);
    if (!isDesired(state, ref)) return undefined;
    const refused = await this.refused(work, state, ref);
    if (refused !== undefined) {
      await this.log.record(job, { type: 'FailSurge', data: { uid, cause: surgeRefused(ref, refused), ...ref } });
      return undefined;
    }
    const after = await this.plan(work, state, ref);
    if (!isDesired(after, ref)) return undefined;
    const missing = missingOf(after.held, surgeKey(ref));
    const sites = await this.sites.of(missing, job.cause);
    await this.creation.makeAll(work, after.held, missing, sites.all);
    return undefined;
  }

  /** Why the extra machines cannot be asked for; undefined: they can, or are named already. */
  private async refused(work: Work, { status, held }: Present, ref: SurgeRef): Promise<string | undefined> {
    if (status !== 'desired') return 'the machines of the cluster are not in order';
    const like = likeOf(held.planned, ref.pool);
    if (like === undefined) return 'the pool has no machine that they could be like';
    const count = surgeLacks(held.planned, held.surges, ref);
    if (count === 0) return undefined;
    const set: NodeSet = { connection: like.connection, spec: like.spec, rootDisk: like.rootDisk, count };
    return (await this.admission.refusal(work, held, [set]))?.message;
  }

  private async plan({ job }: Work, { held }: Present, ref: SurgeRef): Promise<Machines> {
    const like = likeOf(held.planned, ref.pool);
    const count = surgeLacks(held.planned, held.surges, ref);
    const { zones } = await this.sites.of(like === undefined ? [] : [like], job.cause);
    const machines = planSurge(held, { ...ref, count }, zones);
    return this.log.record(job, { type: 'PlanSurge', data: { uid: held.uid, machines, ...ref } });
  }
}

/** The jobs about extra machines, which are there while a pool is upgraded. */
@Controller()
export class SurgeJobs {
  constructor(
    @Inject(SurgeCreation) private readonly creation: SurgeCreation,
    @Inject(Deletion) private readonly deletion: Deletion,
    @Inject(ClusterTurns) private readonly turns: ClusterTurns,
  ) {}

  /** Once it has begun it ends by itself, also when no one wants the surge any more: what is asked for and not waited for would come later. */
  @OnJob<OfSurge>('AddSurge', MAKING)
  add(job: Job<OfSurge>, context: JobContext): Promise<JobLater | undefined> {
    const { upgradeId, pool } = job.data;
    return this.turns.whileDesired(job, context, (work) => this.creation.make(work, { upgradeId, pool }));
  }

  /** Machines of a surge that is over and of which no one was told; the others go when their nodes have left. */
  @OnJob<OfReturn>('ReturnSurge', DELETING)
  giveBack(job: Job<OfReturn>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.alone(job, context, (work) => this.deletion.unannounced(work));
  }
}
