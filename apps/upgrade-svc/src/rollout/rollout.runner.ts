import { isRefusal, type NodeName, type PlanOperation, type StreamId } from '@fairlead/contracts';
import type { Handle, Job, JobContext, JobLater } from '@fairlead/event-sourcing/jetstream';
import type { Clock } from '@fairlead/service-kit';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { EffectFact, RolloutCommand } from './rollout.commands.js';
import { decideFor } from './decisions.js';
import { rollout } from './rollout.decider.js';
import type { AnyRolloutJob, RolloutJob } from './rollout.jobs.js';
import { currentJob } from './rollout.planner.js';
import { NEW_OPERATION, type KnownCluster, type OperationState, type Upgrade } from './rollout.state.js';

const rolloutStreamOf = (job: { readonly namespace: string; readonly cluster: string }): StreamId => ({
  namespace: job.namespace,
  cluster: job.cluster,
  context: 'rollout',
});

/** A job that is wanted: what is known, what it shall do, and how to say what came of it. */
export interface Wanted<J extends AnyRolloutJob> {
  readonly job: Job<J>;
  /** As it is wanted now; the job that was queued may be older. */
  readonly data: J;
  readonly known: KnownCluster;
  readonly upgrade: Upgrade;
  readonly operation: PlanOperation | undefined;
  readonly state: OperationState;
  readonly signal: AbortSignal;
  readonly context: JobContext;
  /** Opens the cluster's API. */
  cluster(): Promise<UpgradeCluster>;
  record(...facts: readonly EffectFact[]): Promise<void>;
}

/** What every fact about an operation says of where it belongs. */
export const whereOf = <J extends AnyRolloutJob & { readonly operation: string }>({ data }: Wanted<J>) => ({
  uid: data.uid,
  upgradeId: data.upgradeId,
  operation: data.operation,
});

export const nodeOf = ({ data }: { readonly data: RolloutJob }): NodeName => {
  if (data.node === undefined) throw new Error(`${data.type} is about a node, and none was named`);
  return data.node;
};

/**
 * Around every job of a roll-out: ask the decider whether it is still wanted, do it, say what came of it. The answer comes from
 * the log, so a job that was delivered twice, or after a pause, an abort or a retry, ends without a sound.
 */
export class RolloutRunner {
  constructor(
    private readonly handle: Handle,
    private readonly clusters: ClusterAccess,
    private readonly clock: Clock,
  ) {}

  async take<J extends AnyRolloutJob>(
    job: Job<J>,
    context: JobContext,
    work: (wanted: Wanted<J>) => Promise<JobLater | void>,
  ): Promise<JobLater | void> {
    const begun = await this.handle(rollout, rolloutStreamOf(job), { type: 'BeginJob', data: job.data }, job.cause);
    if (isRefusal(begun) || begun.state.status === 'absent' || begun.state.upgrade === null) return;
    const known = begun.state;
    const { upgrade } = begun.state;
    const data = (currentJob(known, job.data) as J | undefined) ?? job.data;
    const operation = upgrade.plan?.operations.find(({ id }) => id === data.operation);
    return work({
      job,
      data,
      known,
      upgrade,
      operation,
      state: upgrade.operations[data.operation ?? ''] ?? NEW_OPERATION,
      signal: context.signal,
      context,
      cluster: () => this.clusters.of(known.uid, job.cluster),
      record: (...facts) => this.decide(job, { type: 'RecordFact', data: { facts, now: this.now() } }),
    });
  }

  async decide(job: Job<RolloutJob>, command: RolloutCommand): Promise<void> {
    await decideFor(this.handle, job, { decider: rollout, context: 'rollout', command });
  }

  /** RFC 3339. */
  now(): string {
    return this.clock.now().toISOString();
  }
}
