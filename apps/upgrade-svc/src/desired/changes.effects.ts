import type { NodeName, Probe } from '@fairlead/contracts';
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
import { sayToNode } from '../rollout/decisions.js';
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
            return sayToNode(this.handle, job, node, { type: 'SetDesiredVersions', data: wanted });
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
      await sayToNode(this.handle, job, node, { type: 'SetDesiredVersions', data });
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
    for (const node of nodes)
      await sayToNode(this.handle, job, node, { type: 'SetProbes', data: { uid, node, probes } });
  }

  /** Pods may come again only before the permission goes: a node that is let go is one that serves. */
  @OnJob<ReleaseNode>('ReleaseNode', { attemptsMax: 20, backoffFirstMs: 500, backoffMaxMs: 10_000, timeoutMs: 60_000 })
  releaseNode(job: Job<ReleaseNode>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { uid, software, parked } = wanted.data;
      const node = nodeOf(wanted);
      await this.letGo(wanted, node);
      await sayToNode(this.handle, job, node, { type: 'WithdrawPermission', data: { uid, node, software } });
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
}
