import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { OnJob, type Job, type JobContext, type JobFailure, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { Admission } from './admission.effects.js';
import { Creation } from './creation.effects.js';
import { Deletion } from './deletion.effects.js';
import { ClusterTurns } from './cluster.turns.effects.js';
import { ASKING, DELETING, MAKING } from './job.policies.js';
import { unannouncedOf, type StepFailure } from './machines.decider.js';
import { MachinesLog, type ClusterJob } from './machines.log.effects.js';
import { reasonOf } from './reasons.planner.js';
import type { SurgeRef } from './surges.js';

type OfCluster = { readonly uid: ClusterUid };
type OfRequest = OfCluster & { readonly requestId: string };
type OfDeletion = OfCluster & { readonly deadline: string };
type OfRemoval = OfDeletion & { readonly node: NodeName };

/** The jobs of the machines process. Each has its cluster to itself: a deletion never meets a creation under way. */
@Controller()
export class MachinesJobs {
  constructor(
    @Inject(Admission) private readonly admission: Admission,
    @Inject(Creation) private readonly creation: Creation,
    @Inject(Deletion) private readonly deletion: Deletion,
    @Inject(ClusterTurns) private readonly turns: ClusterTurns,
  ) {}

  @OnJob<OfCluster>('ValidateCluster', ASKING)
  validate(job: Job<OfCluster>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.whileDesired(job, context, async (work) => {
      await this.admission.cluster(work);
      return undefined;
    });
  }

  @OnJob<OfCluster>('CreateMachines', MAKING)
  create(job: Job<OfCluster>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.whileDesired(job, context, (work) => this.creation.create(work));
  }

  @OnJob<OfRequest>('AddMachines', MAKING)
  add(job: Job<OfRequest>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.whileDesired(job, context, (work) => this.creation.add(work));
  }

  @OnJob<OfRemoval>('RemoveMachine', DELETING)
  remove(job: Job<OfRemoval>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.alone(job, context, (work) => this.deletion.machine(work));
  }

  /** Machines of requests that failed or were given up, and of which no one was told. */
  @OnJob<OfDeletion>('ReturnMachines', DELETING)
  giveBack(job: Job<OfDeletion>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.alone(job, context, (work) => this.deletion.unannounced(work));
  }

  @OnJob<OfDeletion>('DeleteMachines', DELETING)
  delete(job: Job<OfDeletion>, context: JobContext): Promise<JobLater | undefined> {
    return this.turns.alone(job, context, (work) => this.deletion.cluster(work));
  }
}

const isAboutSurge = (data: object): data is SurgeRef => 'upgradeId' in data && 'pool' in data;
const isAboutRequest = (data: object): data is OfRequest => 'requestId' in data;
const isAboutNode = (data: object): data is OfRemoval => 'node' in data;

const DELETIONS: ReadonlySet<string> = new Set(['RemoveMachine', 'ReturnMachines', 'ReturnSurge', 'DeleteMachines']);

/** Records what a provider did wrong, for people and for the services that wait. */
@Injectable()
export class MachinesFailures {
  constructor(
    @Inject(MachinesLog) private readonly log: MachinesLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async record(job: ClusterJob, { cause, attempt, attemptsMax, nextAttemptAt }: JobFailure): Promise<void> {
    const deleting = job.type === 'DeleteMachines';
    const step = cause.operation;
    const isDeletion = DELETIONS.has(job.type);
    const reason = reasonOf(isDeletion ? 'delete machines' : step, isDeletion);
    const failure: StepFailure = {
      ...{ step, cause, attempt, attemptsMax, nextAttemptAt, reason, deleting },
      ...(isDeletion ? { deletion: await this.deletionOf(job) } : aboutOf(job.data)),
    };
    await this.log.record(job, { type: 'RecordFailure', data: { uid: job.data.uid, failure } });
  }

  private async deletionOf(job: ClusterJob): Promise<NonNullable<StepFailure['deletion']>> {
    const at = this.clock.now().toISOString();
    if (isAboutNode(job.data)) return { machines: [job.data.node], at };
    const state = await this.log.look(job);
    return { machines: state.status === 'absent' ? [] : unannouncedOf(state.held).map(({ name }) => name), at };
  }
}

const aboutOf = (data: object): Pick<StepFailure, 'surge' | 'requestId'> => {
  if (isAboutSurge(data)) return { surge: { upgradeId: data.upgradeId, pool: data.pool } };
  return isAboutRequest(data) ? { requestId: data.requestId } : {};
};
