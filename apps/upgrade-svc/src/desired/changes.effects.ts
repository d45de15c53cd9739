import { isRefusal, WorldFailure, type NodeName, type Probe } from '@fairlead/contracts';
import {
  HANDLE,
  OnJob,
  type Handle,
  type Job,
  type JobContext,
  type JobLater,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import pLimit from 'p-limit';
import type {
  BeginProbes,
  ChangeNode,
  EndProbes,
  ReleaseNode,
  RolloutJob,
  StageNodes,
} from '../rollout/rollout.jobs.js';
import { nodeOf, whereOf, type RolloutRunner, type Wanted } from '../rollout/rollout.runner.js';
import { ROLLOUT_RUNNER } from '../rollout/tokens.js';
import { UPGRADE_TAINT } from '../drain/marks.js';
import { desired, type SetDesiredVersions, type SetProbes, type WithdrawPermission } from './desired.decider.js';

const DECISIONS_AT_ONCE = 8;

/** What a roll-out wants of nodes, said in each node's own stream, and taken back when the node is done. */
@Controller()
export class ChangesEffects {
  constructor(
    @Inject(ROLLOUT_RUNNER) private readonly runner: RolloutRunner,
    @Inject(HANDLE) private readonly handle: Handle,
  ) {}

  @OnJob<StageNodes>('StageNodes', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 5 * 60_000 })
  stageNodes(job: Job<StageNodes>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async ({ data, known }) => {
      const limit = pLimit(DECISIONS_AT_ONCE);
      const { uid, stage } = data;
      await Promise.all(
        data.nodes.map((node) =>
          limit(() => {
            const { software = {}, changesAllowed = false } = known.nodes[node]?.wanted ?? {};
            const wanted = { uid, node, software, changesAllowed, stage };
            return this.decide(job, node, { type: 'SetDesiredVersions', data: wanted });
          }),
        ),
      );
    });
  }

  @OnJob<ChangeNode>('ChangeNode', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  changeNode(job: Job<ChangeNode>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { uid, software, change, rollback } = wanted.data;
      const node = nodeOf(wanted);
      const data = { uid, node, software, changesAllowed: true, change, rollback };
      await this.decide(job, node, { type: 'SetDesiredVersions', data });
    });
  }

  @OnJob<BeginProbes>('BeginProbes', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  beginProbes(job: Job<BeginProbes>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, ({ data }) => this.setProbes(job, data.nodes, data.probes));
  }

  @OnJob<EndProbes>('EndProbes', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  endProbes(job: Job<EndProbes>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, ({ data }) => this.setProbes(job, data.nodes, []));
  }

  private async setProbes(job: Job<RolloutJob>, nodes: readonly NodeName[], probes: readonly Probe[]): Promise<void> {
    const { uid } = job.data;
    for (const node of nodes) await this.decide(job, node, { type: 'SetProbes', data: { uid, node, probes } });
  }

  /** Pods may come again only before the permission goes: a node that is let go is one that serves. */
  @OnJob<ReleaseNode>('ReleaseNode', { attemptsMax: 20, backoffFirstMs: 500, backoffMaxMs: 10_000, timeoutMs: 60_000 })
  releaseNode(job: Job<ReleaseNode>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { uid, software, parked } = wanted.data;
      const node = nodeOf(wanted);
      await this.letGo(wanted, node);
      await this.decide(job, node, { type: 'WithdrawPermission', data: { uid, node, software } });
      await wanted.record({ type: 'UpgradeWithdrawn', data: { ...whereOf(wanted), node, parked } });
    });
  }

  private async letGo(wanted: Wanted<ReleaseNode>, node: NodeName): Promise<void> {
    const { uncordon, unmark, upgradeId, uid } = wanted.data;
    if (!uncordon && !unmark) return;
    const cluster = await wanted.cluster();
    if (unmark) {
      await cluster.untaint([node], UPGRADE_TAINT);
      await wanted.record({ type: 'NodesUnmarked', data: { uid, upgradeId, nodes: [node] } });
    }
    if (!uncordon) return;
    await cluster.uncordon(node, upgradeId);
    await wanted.record({ type: 'NodeUncordoned', data: { ...whereOf(wanted), node } });
  }

  private async decide(
    { namespace, cluster, cause }: Job<RolloutJob>,
    node: NodeName,
    command: SetDesiredVersions | WithdrawPermission | SetProbes,
  ): Promise<void> {
    const decided = await this.handle(desired, { namespace, cluster, context: `desired-${node}` }, command, cause);
    if (!isRefusal(decided)) return;
    const message = decided.message;
    throw new WorldFailure({ operation: 'say what is wanted of the node', target: node, message, retryable: false });
  }
}
