import { WorldFailure, type NodeName } from '@fairlead/contracts';
import { OnJob, type Job, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { EmptyNode, MarkWorkers, UnmarkWorkers } from '../rollout/rollout.jobs.js';
import { nodeOf, whereOf, type RolloutRunner, type Wanted } from '../rollout/rollout.runner.js';
import { drainOf } from '../rollout/rollout.state.js';
import { ROLLOUT_RUNNER, SETTINGS } from '../rollout/tokens.js';
import { d5OnTimeout } from '../rules/workers.rules.js';
import { NodeDrain } from './drain.effects.js';
import { UPGRADE_TAINT } from './marks.js';

const DRAINS_MAX = 2_000;
const SECOND_MS = 1_000;

/** Empties nodes, and marks those that are still to come. */
@Controller()
export class EmptyEffects {
  /** Counts of what was evicted; they are lost with the process, and nothing else is. */
  private readonly drains = new LRUCache<string, NodeDrain>({ max: DRAINS_MAX });

  constructor(
    @Inject(ROLLOUT_RUNNER) private readonly runner: RolloutRunner,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs' | 'sliceMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** In slices: between two of them the decider is asked again, so that a pause, an abort or a skip is heard. */
  @OnJob<EmptyNode>('EmptyNode', {
    attemptsMax: 30,
    backoffFirstMs: 1_000,
    backoffMaxMs: 10_000,
    timeoutMs: 5 * 60_000,
  })
  emptyNode(job: Job<EmptyNode>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const cluster = await wanted.cluster();
      const node = nodeOf(wanted);
      const cordoned = wanted.data.drain ? await this.cordon(wanted, cluster, node) : undefined;
      const since = cordoned ?? this.clock.now().toISOString();
      await this.moveLeader(wanted, cluster, node);
      if (cordoned === undefined) return this.emptied(wanted, node, { evictedPods: 0, forcedPods: 0, since });
      const drain = this.drains.get(job.id) ?? new NodeDrain(cluster, node, () => this.clock.now().getTime());
      this.drains.set(job.id, drain);
      return this.drain(wanted, drain, since);
    });
  }

  @OnJob<MarkWorkers>('MarkWorkers', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  markWorkers(job: Job<MarkWorkers>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const nodes = await (await wanted.cluster()).taint(wanted.data.nodes, UPGRADE_TAINT);
      await wanted.record({ type: 'NodesMarked', data: { ...whereOf(wanted), nodes: nodes as NodeName[] } });
    });
  }

  @OnJob<UnmarkWorkers>('UnmarkWorkers', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  unmarkWorkers(job: Job<UnmarkWorkers>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { uid, upgradeId, nodes } = wanted.data;
      await (await wanted.cluster()).untaint(nodes, UPGRADE_TAINT);
      await wanted.record({ type: 'NodesUnmarked', data: { uid, upgradeId, nodes: [...nodes] } });
    });
  }

  /** Answers since when it is cordoned: from then on its time runs; undefined: it is an extra node that has left Kubernetes. */
  private async cordon(
    wanted: Wanted<EmptyNode>,
    cluster: UpgradeCluster,
    node: NodeName,
  ): Promise<string | undefined> {
    const since = drainOf(wanted.state, node).cordon?.since ?? null;
    if (since !== null) return since;
    const byPlan = await cluster.cordon(node, wanted.data.upgradeId);
    if (byPlan === undefined && wanted.known.extra[node] !== undefined) return undefined;
    if (byPlan === undefined)
      throw new WorldFailure({ operation: 'cordon', target: node, message: 'Kubernetes does not know the node' });
    await wanted.record({ type: 'NodeCordoned', data: { ...whereOf(wanted), node, byPlan } });
    return this.clock.now().toISOString();
  }

  private async moveLeader(wanted: Wanted<EmptyNode>, cluster: UpgradeCluster, node: NodeName): Promise<void> {
    const { moveEtcdLeader } = wanted.data;
    if (moveEtcdLeader === null || wanted.state.leaderMoved) return;
    const { uid, upgradeId } = wanted.data;
    const etcd = new Etcd(cluster, wanted.signal);
    const { members } = await etcd.facts(Object.values(wanted.known.nodes));
    const leader = members.find((member) => member.leader)?.node ?? null;
    const to = members.find((member) => member.node === moveEtcdLeader);
    if (leader === node) {
      if (to === undefined || !to.healthy)
        throw new WorldFailure({
          operation: 'move the leader of etcd',
          target: node,
          message: `the member on ${moveEtcdLeader} is not healthy`,
        });
      await etcd.moveLeader(node, to.id);
    }
    const now = leader === node || leader === null ? moveEtcdLeader : leader;
    await wanted.record({
      type: 'EtcdLeaderMoved',
      data: { uid, upgradeId, operation: wanted.data.operation, node, to: now },
    });
  }

  private async drain(wanted: Wanted<EmptyNode>, drain: NodeDrain, since: string): Promise<JobLater | void> {
    const sliceEndsMs = this.clock.now().getTime() + this.settings.sliceMs;
    const node = nodeOf(wanted);
    while (this.clock.now().getTime() < sliceEndsMs) {
      const look = await drain.look();
      const { evictedPods, forcedPods } = drain;
      if (look.left.length === 0) {
        this.drains.delete(wanted.job.id);
        return this.emptied(wanted, node, { evictedPods, forcedPods, since });
      }
      if (this.isLate(wanted, since)) {
        const policy = d5OnTimeout(wanted.data.pool, this.clock.now().toISOString());
        await wanted.record({
          type: 'DrainTimedOut',
          data: { ...whereOf(wanted), node, pods: [...look.left], policy },
        });
        if (policy !== 'force') return undefined;
        await drain.force();
      }
      for (const { budget, pods, message } of look.refusals)
        await wanted.record({
          type: 'EvictionRefused',
          data: { ...whereOf(wanted), node, budget, pods: [...pods], message },
        });
      await sleep(this.settings.lookEveryMs, undefined, { signal: wanted.signal });
    }
    return wanted.context.later(1, 'pods are still on the node');
  }

  private isLate({ data }: Wanted<EmptyNode>, since: string): boolean {
    const limitMs = data.pool.drainTimeoutSeconds * SECOND_MS;
    // 0: never forced, and never over.
    return limitMs > 0 && this.clock.now().getTime() - Date.parse(since) >= limitMs;
  }

  private emptied(
    wanted: Wanted<EmptyNode>,
    node: NodeName,
    { since, ...counts }: { readonly evictedPods: number; readonly forcedPods: number; readonly since: string },
  ): Promise<void> {
    const tookMs = Math.max(0, this.clock.now().getTime() - Date.parse(since));
    return wanted.record({ type: 'NodeEmptied', data: { ...whereOf(wanted), node, ...counts, tookMs } });
  }
}
