import { UPGRADE_TAINT, type NodeName, type Probe } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, InstallationReleases, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import pLimit from 'p-limit';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { sayToNode } from './decisions.js';
import { releasesFor } from './desired.releases.js';
import { viewOf, nodeOf, recordFacts, whereOf, type RolloutContext } from '../rollout/rollout.context.js';
import {
  UNTIL_DONE,
  type BeginProbes,
  type ChangeNode,
  type EndProbes,
  type ReleaseNode,
  type StageNodes,
} from '../rollout/rollout.tasks.js';
import { CLUSTER_ACCESS } from '../tokens.js';

const DECISIONS_AT_ONCE = 8;

/** Requests the changes of a rollout in each node's own stream, and withdraws them when the node is done. */
@Controller()
export class ChangesEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(InstallationReleases) private readonly releases: Pick<InstallationReleases, 'latest'>,
  ) {}

  @OnTask('StageNodes', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 5 * 60_000 })
  async stageNodes(task: RolloutContext<StageNodes>): Promise<void> {
    const limit = pLimit(DECISIONS_AT_ONCE);
    const { uid, stage, nodes } = task.data;
    const { cluster } = viewOf(task);
    const own = await this.releases.latest();
    await Promise.all(
      nodes.map((node) =>
        limit(() => {
          const { software = {}, changesAllowed = false, changesAllowedUntil } = cluster.nodes[node]?.desired ?? {};
          const until = changesAllowedUntil === undefined ? {} : { changesAllowedUntil };
          const releases = releasesFor(own, software, stage.software);
          const desired = { uid, node, software, changesAllowed, ...until, stage, ...releases };
          return sayToNode(this.handle, task, node, { type: 'SetDesiredVersions', data: desired });
        }),
      ),
    );
  }

  @OnTask('ChangeNode', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async changeNode(task: RolloutContext<ChangeNode>): Promise<void> {
    const { uid, software, change, rollback } = task.data;
    const node = nodeOf(task);
    const releases = releasesFor(await this.releases.latest(), software);
    const data = { uid, node, software, changesAllowed: true, change, rollback, ...releases };
    await sayToNode(this.handle, task, node, { type: 'SetDesiredVersions', data });
  }

  @OnTask('BeginProbes', { attemptsMax: UNTIL_DONE, backoffFirstMs: 500, timeoutMs: 60_000 })
  beginProbes(task: RolloutContext<BeginProbes>): Promise<void> {
    return this.setProbes(task, task.data.nodes, task.data.probes);
  }

  @OnTask('EndProbes', { attemptsMax: UNTIL_DONE, backoffFirstMs: 500, timeoutMs: 60_000 })
  endProbes(task: RolloutContext<EndProbes>): Promise<void> {
    return this.setProbes(task, task.data.nodes, []);
  }

  private async setProbes(task: RolloutContext, nodes: readonly NodeName[], probes: readonly Probe[]): Promise<void> {
    const { uid } = task.data;
    for (const node of nodes)
      await sayToNode(this.handle, task, node, { type: 'SetProbes', data: { uid, node, probes } });
  }

  /** Uncordoned before the permission is withdrawn: a released node is schedulable. */
  @OnTask('ReleaseNode', { attemptsMax: UNTIL_DONE, backoffFirstMs: 500, backoffMaxMs: 10_000, timeoutMs: 60_000 })
  async releaseNode(task: RolloutContext<ReleaseNode>): Promise<void> {
    const { uid, software, leftFailed } = task.data;
    const node = nodeOf(task);
    await this.letGo(task, node);
    await sayToNode(this.handle, task, node, { type: 'WithdrawPermission', data: { uid, node, software } });
    await recordFacts(task, this.clock, { type: 'UpgradeWithdrawn', data: { ...whereOf(task), node, leftFailed } });
  }

  private async letGo(task: RolloutContext<ReleaseNode>, node: NodeName): Promise<void> {
    const { uncordon, unmark, upgradeId, uid } = task.data;
    if (!uncordon && !unmark) return;
    const cluster = await this.clusters.of(uid, task.cluster);
    if (unmark) {
      await cluster.untaint([node], UPGRADE_TAINT);
      await recordFacts(task, this.clock, { type: 'NodesUnmarked', data: { uid, upgradeId, nodes: [node] } });
    }
    if (!uncordon) return;
    await cluster.uncordon(node, upgradeId);
    await recordFacts(task, this.clock, { type: 'NodeUncordoned', data: { ...whereOf(task), node } });
  }
}
