import { UPGRADE_TAINT, ExternalFailure, type NodeName } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { NodeDrain, rulesFor, type DrainLook } from '@fairlead/kubernetes/drain';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { nodeOf, operationOf, recordFacts, viewOf, whereOf, type RolloutContext } from '../rollout/rollout.context.js';
import { UNTIL_DONE, type EmptyNode, type MarkWorkers, type UnmarkWorkers } from '../rollout/rollout.tasks.js';
import { drainOf, NEW_OPERATION } from '../rollout/rollout.state.js';
import { poolOf } from '../plan/plan.request.js';
import { CLUSTER_ACCESS, SETTINGS } from '../tokens.js';
import { d5OnTimeout } from '../rules/workers.rules.js';

const DRAINS_MAX = 2_000;
const SECOND_MS = 1_000;

/** Drains nodes, and marks those that are next. */
@Controller()
export class EmptyEffects {
  /** Eviction counts. They are lost on restart, which only affects the counts. */
  private readonly drains = new LRUCache<string, NodeDrain>({ max: DRAINS_MAX });

  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs' | 'sliceMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** In slices that are far shorter than the timeout of an attempt. */
  @OnTask('EmptyNode', { attemptsMax: 30, backoffFirstMs: 1_000, backoffMaxMs: 10_000, timeoutMs: 5 * 60_000 })
  async emptyNode(task: RolloutContext<EmptyNode>): Promise<RequeueAfter | void> {
    const cluster = await this.clusters.of(task.data.uid, task.cluster);
    const node = nodeOf(task);
    const cordoned = task.data.drain ? await this.cordon(task, cluster, node) : undefined;
    const since = cordoned ?? this.clock.now().toISOString();
    await this.moveLeader(task, cluster, node);
    if (cordoned === undefined) return this.emptied(task, node, { evictedPods: 0, forcedPods: 0, since });
    const drain = this.drains.get(task.id) ?? this.drainOf(task, cluster);
    this.drains.set(task.id, drain);
    return this.drain(task, drain, since);
  }

  private drainOf(task: RolloutContext<EmptyNode>, cluster: UpgradeCluster): NodeDrain {
    const { nodes, drain = {} } = viewOf(task).cluster;
    const node = nodeOf(task);
    const planned = nodes[node];
    const rules = planned === undefined ? [] : rulesFor(drain, poolOf(planned));
    return new NodeDrain(cluster, node, { mark: task.data.upgradeId, nowMs: () => this.clock.now().getTime(), rules });
  }

  @OnTask('MarkWorkers', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  async markWorkers(task: RolloutContext<MarkWorkers>): Promise<void> {
    const cluster = await this.clusters.of(task.data.uid, task.cluster);
    const nodes = (await cluster.taint(task.data.nodes, UPGRADE_TAINT)) as NodeName[];
    await recordFacts(task, this.clock, { type: 'NodesMarked', data: { ...whereOf(task), nodes } });
  }

  @OnTask('UnmarkWorkers', { attemptsMax: UNTIL_DONE, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  async unmarkWorkers(task: RolloutContext<UnmarkWorkers>): Promise<void> {
    const { uid, upgradeId, nodes } = task.data;
    const cluster = await this.clusters.of(uid, task.cluster);
    await cluster.untaint(nodes, UPGRADE_TAINT);
    await recordFacts(task, this.clock, { type: 'NodesUnmarked', data: { uid, upgradeId, nodes: [...nodes] } });
  }

  /**
   * Returns when it was cordoned, from which its time limit runs; undefined: it is a surge node that has left
   * Kubernetes.
   */
  private async cordon(
    task: RolloutContext<EmptyNode>,
    cluster: UpgradeCluster,
    node: NodeName,
  ): Promise<string | undefined> {
    const since = drainOf(operationOf(task)?.state ?? NEW_OPERATION, node).cordon?.since ?? null;
    if (since !== null) return since;
    const byPlan = await cluster.cordon(node, task.data.upgradeId);
    if (byPlan === undefined && viewOf(task).cluster.extra[node] !== undefined) return undefined;
    if (byPlan === undefined)
      throw new ExternalFailure({ operation: 'cordon', target: node, message: 'Kubernetes does not know the node' });
    await recordFacts(task, this.clock, { type: 'NodeCordoned', data: { ...whereOf(task), node, byPlan } });
    return this.clock.now().toISOString();
  }

  private async moveLeader(task: RolloutContext<EmptyNode>, cluster: UpgradeCluster, node: NodeName): Promise<void> {
    const { moveEtcdLeader } = task.data;
    if (moveEtcdLeader === null || operationOf(task)?.state.leaderMoved === true) return;
    const { uid, upgradeId } = task.data;
    const etcd = new Etcd(cluster, task.signal);
    const { members } = await etcd.facts(Object.values(viewOf(task).cluster.nodes));
    const leader = members.find((member) => member.leader)?.node ?? null;
    const to = members.find((member) => member.node === moveEtcdLeader);
    if (leader === node) {
      if (to === undefined || !to.healthy)
        throw new ExternalFailure({
          operation: 'move the leader of etcd',
          target: node,
          message: `the member on ${moveEtcdLeader} is not healthy`,
        });
      await etcd.moveLeader(node, to.id);
    }
    const now = leader === node || leader === null ? moveEtcdLeader : leader;
    await recordFacts(task, this.clock, {
      type: 'EtcdLeaderMoved',
      data: { uid, upgradeId, operation: task.data.operation, node, to: now },
    });
  }

  private async drain(task: RolloutContext<EmptyNode>, drain: NodeDrain, since: string): Promise<RequeueAfter | void> {
    const sliceEndsMs = this.clock.now().getTime() + this.settings.sliceMs;
    const node = nodeOf(task);
    while (this.clock.now().getTime() < sliceEndsMs) {
      const look = await drain.look();
      const { evictedPods, forcedPods } = drain;
      if (look.left.length === 0) {
        this.drains.delete(task.id);
        return this.emptied(task, node, { evictedPods, forcedPods, since, returned: look.returned });
      }
      for (const { budget, pods, message } of look.refusals)
        await recordFacts(task, this.clock, {
          type: 'EvictionRefused',
          data: { ...whereOf(task), node, budget, pods: [...pods], message },
        });
      if (this.isLate(task, since)) {
        const policy = d5OnTimeout(task.data.pool, this.clock.now().toISOString());
        await recordFacts(task, this.clock, {
          type: 'DrainTimedOut',
          data: { ...whereOf(task), node, pods: [...look.left], policy },
        });
        if (policy !== 'force') return undefined;
        await drain.force();
      }
      await sleep(this.settings.lookEveryMs, undefined, { signal: task.signal });
    }
    return task.requeueAfter(1, 'pods are still on the node');
  }

  private isLate({ data }: RolloutContext<EmptyNode>, since: string): boolean {
    const limitMs = data.pool.drainTimeoutSeconds * SECOND_MS;
    // 0: never forced, without a time limit.
    return limitMs > 0 && this.clock.now().getTime() - Date.parse(since) >= limitMs;
  }

  private emptied(
    task: RolloutContext<EmptyNode>,
    node: NodeName,
    {
      since,
      returned = [],
      ...counts
    }: Record<'evictedPods' | 'forcedPods', number> & {
      readonly since: string;
      readonly returned?: DrainLook['returned'];
    },
  ): Promise<void> {
    const tookMs = Math.max(0, this.clock.now().getTime() - Date.parse(since));
    return recordFacts(task, this.clock, {
      type: 'NodeEmptied',
      data: {
        ...whereOf(task),
        node,
        ...counts,
        tookMs,
        ...(returned.length === 0 ? {} : { returned: [...returned] }),
      },
    });
  }
}
