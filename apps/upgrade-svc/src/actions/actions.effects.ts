import { changesNode, CONTROL_PLANE_POOL, ExternalFailure } from '@fairlead/contracts';
import { actionMark } from '@fairlead/domain';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { NodeDrain, rulesFor, type DrainLook } from '@fairlead/kubernetes/drain';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.js';
import { sayToNode } from '../desired/decisions.js';
import { rebootOf, repairOf } from '../desired/node.change.js';
import { Etcd } from '../etcd/etcd.effects.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { c8QuorumWithout } from '../rules/control-plane.rules.js';
import { CLUSTER_ACCESS, SETTINGS } from '../tokens.js';
import type { RecordAction } from './actions.decider.js';
import { drainSinceOf } from './actions.planner.js';
import type { ActionTask, AllowChange, UncordonNode } from './actions.reconciler.js';
import type { Actions, KnownActions, Open, Progress } from './actions.state.js';

const DRAINS_MAX = 2_000;
const SECOND_MS = 1_000;
/** How many pods are named in a message; the rest are counted. */
const NAMED_PODS_MAX = 20;

type Context<Data extends ActionTask = ActionTask> = TaskContext<Actions, RecordAction, Data>;

interface Drain {
  readonly drain: NodeDrain;
  readonly open: Open;
  readonly since: string;
}

const namedPods = (pods: readonly string[]): string =>
  pods.length <= NAMED_PODS_MAX
    ? pods.join(', ')
    : `${pods.slice(0, NAMED_PODS_MAX).join(', ')} and ${pods.length - NAMED_PODS_MAX} more`;

/** Performs node requests. Cordons carry the mark of their request, and only those are removed. */
@Controller()
export class ActionsEffects {
  /** Eviction counts. They are lost on restart, which only affects the counts. */
  private readonly drains = new LRUCache<string, NodeDrain>({ max: DRAINS_MAX });

  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs' | 'sliceMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CordonNode', { attemptsMax: 20, backoffFirstMs: 1_000, backoffMaxMs: 10_000, timeoutMs: 60_000 })
  async cordonNode(task: Context): Promise<void> {
    const { uid, requestId, node, action } = task.data;
    const api = await this.clusters.of(uid, task.cluster);
    const byRequest = await api.cordon(node, actionMark(requestId));
    // A node without a Node object has no pods, and its kubelet registers it again when it starts.
    if (byRequest === undefined && !changesNode(action))
      throw new ExternalFailure({ operation: 'cordon', target: node, message: 'Kubernetes does not know the node' });
    await record(task, { type: 'NodeActionCordoned', data: { ...aboutOf(task), byRequest: byRequest ?? false } });
  }

  /** In slices that are far shorter than the timeout of an attempt. */
  @OnTask('DrainNode', { attemptsMax: 30, backoffFirstMs: 1_000, backoffMaxMs: 10_000, timeoutMs: 5 * 60_000 })
  async drainNode(task: Context): Promise<RequeueAfter | undefined> {
    const { uid, requestId, node } = task.data;
    const { state } = task;
    const open = state.status === 'absent' ? undefined : state.open[requestId];
    const progress: Progress | undefined = open?.nodes[node];
    if (state.status === 'absent' || open === undefined || progress === undefined) return undefined;
    const api = await this.clusters.of(uid, task.cluster);
    const drain = this.drains.get(task.id) ?? this.newDrain(api, state, task.data);
    this.drains.set(task.id, drain);
    const since = drainSinceOf(state, { open, node, progress }) ?? this.clock.now().toISOString();
    return this.drain(task, { drain, open, since });
  }

  @OnTask('AllowChange', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async allowChange(task: Context<AllowChange>): Promise<void> {
    const { uid, node, requestId, action, unlessBooted } = task.data;
    await this.leaveEtcd(task);
    const mark = actionMark(requestId);
    const change = action === 'repair' ? repairOf(mark) : rebootOf(mark, unlessBooted);
    await sayToNode(this.handle, task, node, { type: 'AskForChange', data: { uid, node, change } });
  }

  @OnTask('EndChange', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async endChange(task: Context): Promise<void> {
    const { uid, node, requestId } = task.data;
    const data = { uid, node, change: actionMark(requestId) };
    await sayToNode(this.handle, task, node, { type: 'WithdrawPermission', data });
  }

  @OnTask('UncordonNode', { attemptsMax: 50, backoffFirstMs: 1_000, backoffMaxMs: 30_000, timeoutMs: 60_000 })
  async uncordonNode(task: Context<UncordonNode>): Promise<void> {
    const { uid, node, cordonedBy } = task.data;
    const api = await this.clusters.of(uid, task.cluster);
    await api.uncordon(node, actionMark(cordonedBy));
    await record(task, { type: 'NodeActionUncordoned', data: { ...aboutOf(task), cordonedBy } });
  }

  /**
   * C8, from the current responses of the etcd members: a change must neither cost the quorum nor cause a leader
   * election.
   */
  private async leaveEtcd(task: Context<AllowChange>): Promise<void> {
    const { uid, node } = task.data;
    const members = task.state.status === 'absent' ? {} : task.state.members;
    const controlPlanes = Object.values(members).filter(({ role }) => role === 'control-plane');
    if (members[node]?.role !== 'control-plane' || controlPlanes.length === 1) return;
    const etcd = new Etcd(await this.clusters.of(uid, task.cluster), task.signal);
    const facts = await etcd.facts(controlPlanes);
    const [finding] = c8QuorumWithout(facts, node);
    if (finding !== undefined)
      throw new ExternalFailure({ operation: task.data.action, target: node, message: finding.sentence });
    if (facts.members.length === 1) return;
    const { movedTo: to } = await etcd.moveLeaderAway(facts, node);
    if (to === null) return;
    const data = { uid, upgradeId: null, operation: null, node, to };
    await record(task, { type: 'EtcdLeaderMoved', data });
  }

  private newDrain(
    api: UpgradeCluster,
    { members, drainPolicy }: KnownActions,
    { node, requestId }: Pick<ActionTask, 'node' | 'requestId'>,
  ): NodeDrain {
    const { role, pool = '' } = members[node] ?? {};
    const rules = rulesFor(drainPolicy, role === 'control-plane' ? CONTROL_PLANE_POOL : pool);
    return new NodeDrain(api, node, { mark: actionMark(requestId), nowMs: () => this.clock.now().getTime(), rules });
  }

  private async drain(task: Context, { drain, open, since }: Drain): Promise<RequeueAfter | undefined> {
    const sliceEndsMs = this.clock.now().getTime() + this.settings.sliceMs;
    while (this.clock.now().getTime() < sliceEndsMs) {
      const look = await drain.look();
      const passedMs = Math.max(0, this.clock.now().getTime() - Date.parse(since));
      if (look.left.length === 0) {
        this.drains.delete(task.id);
        const returned = look.returned.length === 0 ? {} : { returned: [...look.returned] };
        const data = { ...aboutOf(task), evictedPods: drain.evictedPods, tookMs: passedMs, ...returned };
        await record(task, { type: 'NodeActionDrained', data });
        return undefined;
      }
      // 0: no limit.
      if (open.drainTimeoutSeconds > 0 && passedMs >= open.drainTimeoutSeconds * SECOND_MS) {
        await this.late(task, look, open);
        return undefined;
      }
      for (const { budget, pods, message } of look.refusals) {
        const data = { ...aboutOf(task), budget, pods: [...pods], message };
        await record(task, { type: 'NodeActionEvictionRefused', data });
      }
      await sleep(this.settings.lookEveryMs, undefined, { signal: task.signal });
    }
    return task.requeueAfter(1, 'pods are still on the node');
  }

  private async late(task: Context, { left, refusals }: DrainLook, open: Open): Promise<void> {
    const why = refusals.map(({ message }) => `: ${message}`)[0] ?? '';
    const message = `${namedPods(left)} did not leave within ${open.drainTimeoutSeconds} s${why}`;
    const cause = { operation: 'drain', target: task.data.node, message };
    this.drains.delete(task.id);
    await record(task, { type: 'NodeActionFailed', data: { ...aboutOf(task), cause } });
  }
}

const aboutOf = ({
  data: { uid, requestId, action, node },
}: Context): Pick<ActionTask, 'uid' | 'requestId' | 'action' | 'node'> => ({
  ...{ uid, requestId, action, node },
});

const record = async (task: Context, fact: RecordAction['data']['fact']): Promise<void> => {
  await task.record({ type: 'RecordAction', data: { uid: task.data.uid, fact } });
};
