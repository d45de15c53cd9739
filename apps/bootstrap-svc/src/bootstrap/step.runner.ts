import { isRefusal, WorldFailure, type NodeName, type StoredEvent, type StreamId } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import type { Handle, Job, JobContext, JobLater } from '@fairlead/event-sourcing/jetstream';
import { randomUUID } from 'node:crypto';
import { bootstrap, type BootstrapCommand, type Outcome, type StepAttempt } from './bootstrap.decider.js';
import { keyOf } from './bootstrap.planner.js';
import type { Bootstrap, Host, Known } from './bootstrap.state.js';
import type { RunningSteps } from './steps.ports.js';

export interface StepData extends StepAttempt {
  readonly [key: string]: unknown;
}
export type StepJob = Job<StepData>;

const HELD_ELSEWHERE_AGAIN_MS = 1_000;

export const streamOf = (job: { readonly namespace: string; readonly cluster: string }): StreamId => ({
  namespace: job.namespace,
  cluster: job.cluster,
  context: 'bootstrap',
});

/** A step that may run: what is known, and how to say what came of it. */
export interface Step {
  readonly job: StepJob;
  readonly state: Known;
  /** Aborts when the service stops, the step's time is over, or the cluster no longer wants it. */
  readonly signal: AbortSignal;
  readonly attempt: number;
  /** Resolves to what is known then. */
  record(outcome: Outcome): Promise<Bootstrap>;
  decide(command: BootstrapCommand): Promise<Bootstrap>;
}

/** The host that a step is about. Its absence is a bug: the plan named it. */
export const hostOf = (step: Step, name: NodeName | undefined = step.job.data.node): Host => {
  const host = name === undefined ? undefined : step.state.hosts[name];
  if (host === undefined) throw new Error(`${step.job.type} is about a host that is not known: ${String(name)}`);
  return host;
};

/** A step at work in this process. */
interface Running {
  readonly controller: AbortController;
  readonly step: string;
  readonly node: NodeName | undefined;
}

/** What no longer is wanted ends without a sound. */
class NoLongerWanted extends Error {}

/**
 * Around every step: take it alone, look whether it is wanted, do it, end it when it is wanted no more. What is known of the
 * cluster is folded after the step is held, so nothing that comes later can be missed.
 */
export class StepRunner {
  private readonly running = new Map<string, Set<Running>>();

  constructor(
    private readonly handle: Handle,
    private readonly steps: RunningSteps,
  ) {}

  async take(
    job: StepJob,
    context: JobContext,
    work: (step: Step) => Promise<JobLater | void>,
  ): Promise<JobLater | void> {
    const { uid } = job.data;
    const key = keyOf(job.data);
    const holder = randomUUID();
    if (!(await this.steps.hold(uid, key, holder)))
      return context.later(HELD_ELSEWHERE_AGAIN_MS, 'another delivery of this step still runs');
    try {
      return await this.whileWanted(job, context, work);
    } finally {
      await this.steps.release(uid, key, holder);
    }
  }

  /** Ends what runs for a cluster in this process. Others see it when they look. */
  cancel(event: StoredEvent<'ClusterFailed' | 'ClusterDeletionRequested'>): void {
    for (const { controller } of this.running.get(event.data.uid) ?? [])
      controller.abort(new NoLongerWanted(event.type));
  }

  /** Ends what runs on nodes that are given up; other nodes of the cluster are not touched. */
  cancelOn(event: StoredEvent<'NodesFailed' | 'NodesAbandoned'>): void {
    const { uid, nodes } = event.data;
    for (const { controller, step, node } of this.running.get(uid) ?? [])
      if (node !== undefined && step !== 'RemoveNode' && nodes.includes(node))
        controller.abort(new NoLongerWanted(event.type));
  }

  /** Other steps that are at work on a node now, in any replica. */
  async othersOn(node: NodeName, { job }: Step): Promise<readonly string[]> {
    const running = await this.steps.others(job.data.uid, keyOf(job.data));
    return running.filter((key) => key.endsWith(`/${node}`));
  }

  private async whileWanted(
    job: StepJob,
    context: JobContext,
    work: (step: Step) => Promise<JobLater | void>,
  ): Promise<JobLater | void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, context.signal]);
    const release = this.register(job.data.uid, { controller, step: job.type, node: job.data.node });
    const step = job.data;
    try {
      const begun = await this.handle(bootstrap, streamOf(job), { type: 'BeginStep', data: step }, job.cause);
      if (isRefusal(begun) || begun.state.status === 'absent') return;
      const { state } = begun;
      const decide = (command: BootstrapCommand): Promise<Bootstrap> => this.decide(job, command, job.cause);
      const record = (data: Outcome): Promise<Bootstrap> => decide({ type: 'RecordOutcome', data });
      return await work({ job, state, signal, attempt: context.attempt, record, decide });
    } catch (error) {
      if (controller.signal.aborted && controller.signal.reason instanceof NoLongerWanted) return;
      throw error;
    } finally {
      release();
    }
  }

  private async decide(job: StepJob, command: BootstrapCommand, cause: Cause): Promise<Bootstrap> {
    const decided = await this.handle(bootstrap, streamOf(job), command, cause);
    if (!isRefusal(decided)) return decided.state;
    throw new WorldFailure({ operation: 'record the outcome', target: job.cluster, message: decided.message });
  }

  private register(uid: string, step: Running): () => void {
    const running = this.running.get(uid) ?? new Set();
    this.running.set(uid, running.add(step));
    return () => {
      running.delete(step);
      if (running.size === 0) this.running.delete(uid);
    };
  }
}
