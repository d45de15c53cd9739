import { ExternalFailure, type Cause, type EventData, type Fact, type NodeName } from '@fairlead/contracts';
import { majorityOf } from '@fairlead/domain';
import { OnTask, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { c8MayLeave, removalQuorumOf } from '../rules/control-plane.rules.js';
import { CLUSTER_ACCESS, SNAPSHOT_KEEPER } from '../tokens.js';
import { Etcd } from './etcd.effects.js';
import type { EtcdFacts } from '../rules/cluster.facts.js';
import { removalSnapshot, type RemovalCommand, type Removals } from './removals.decider.js';
import type { PrepareRemoval, WatchRemoval } from './removals.reconciler.js';
import type { SnapshotKeeper, TakenSnapshot } from './snapshot.keeper.js';

type RemovalTask = TaskContext<Removals, RemovalCommand, PrepareRemoval>;
type WatchTask = TaskContext<Removals, RemovalCommand, WatchRemoval>;
type RemovalQuorum = EventData<'ControlPlaneRemovalPrepared'>['quorum'];

const OPERATION = 'remove a control plane';
/** The delay before a blocked removal is checked again; it doubles with each attempt. */
const LOOK_FIRST_MS = 15_000;
const LOOK_MAX_MS = 600_000;
/** For a failed preparation, whose retry may fail as well. */
const AGAIN_MAX_MS = 4 * 60 * 60_000;
const DOUBLINGS_MAX = 10;

const noQuorum = (node: NodeName, { healthy, target }: RemovalQuorum, itIsHealthy: boolean): Cause => ({
  operation: OPERATION,
  target: node,
  message: `etcd would have ${healthy - (itIsHealthy ? 1 : 0)} healthy of ${target} voters, and needs ${majorityOf(Math.max(target, 1))}`,
});

type BlockedFact = Fact<'ControlPlaneRemovalBlocked'>;

/** Why it cannot be removed; undefined: it can. */
const blockedBy = (facts: EtcdFacts, { uid, node, attempt }: PrepareRemoval): BlockedFact | undefined => {
  if (c8MayLeave(facts, node)) return undefined;
  const quorum = removalQuorumOf(facts, node);
  const itIsHealthy = facts.members.some((member) => member.node === node && member.healthy && !member.learner);
  const data = { uid, node, attempt, quorum, cause: noQuorum(node, quorum, itIsHealthy) };
  return { type: 'ControlPlaneRemovalBlocked', data };
};

const isSame = (one: BlockedFact['data']['quorum'], other: RemovalQuorum): boolean =>
  one?.voters === other.voters && one.healthy === other.healthy && one.target === other.target;

const firstLookMs = ({ attempt, quorum }: WatchRemoval): number =>
  Math.min(LOOK_FIRST_MS * 2 ** Math.min(attempt - 1, DOUBLINGS_MAX), quorum === null ? AGAIN_MAX_MS : LOOK_MAX_MS);

/** Prepares etcd for the removal of a control plane, based on the current responses of its members. */
@Controller()
export class RemovalsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SNAPSHOT_KEEPER) private readonly keeper: SnapshotKeeper,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('PrepareRemoval', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  async prepareRemoval(task: RemovalTask): Promise<void> {
    const { namespace, cluster: name, signal } = task;
    const { uid, node, attempt } = task.data;
    const cluster = await this.clusters.of(uid, name);
    const etcd = new Etcd(cluster, signal);
    const nodes = await cluster.nodes();
    const before = await etcd.facts(nodes);
    const blocked = blockedBy(before, task.data);
    if (blocked !== undefined) {
      await task.record({ type: 'RecordRemoval', data: { done: [], outcome: blocked } });
      return;
    }
    const quorum = removalQuorumOf(before, node);
    const owner = { namespace, cluster: name, uid };
    const snapshot = task.data.snapshot ?? removalSnapshot(name, { node, attempt });
    const taken =
      task.data.snapshot === undefined ? await this.keeper.save(cluster, snapshot, owner, signal) : undefined;
    const { leader, movedTo } = await etcd.moveLeaderAway(await etcd.facts(nodes), node);
    await task.record({
      type: 'RecordRemoval',
      data: {
        done: [
          ...(taken === undefined ? [] : [removalSaved(uid, snapshot, taken)]),
          ...(movedTo === null ? [] : [leaderMoved(uid, node, movedTo)]),
        ],
        outcome: {
          type: 'ControlPlaneRemovalPrepared',
          data: { uid, node, attempt, quorum, snapshot, leader },
        },
      },
    });
  }

  /** Only changes are stated, because a removal may be blocked for days. */
  @OnTask('WatchRemoval', { attemptsMax: 20, backoffFirstMs: 5_000, backoffMaxMs: 600_000, timeoutMs: 2 * 60_000 })
  async watchRemoval(task: WatchTask): Promise<RequeueAfter | undefined> {
    const { uid, node, attempt, quorum } = task.data;
    const sinceMs = this.clock.now().getTime() - Date.parse(task.data.since);
    const waitMs = firstLookMs(task.data) - sinceMs;
    if (waitMs > 0) return task.requeueAfter(Math.min(waitMs, LOOK_MAX_MS), 'it was looked at a moment ago');
    const facts = quorum === null ? undefined : await this.look(task);
    const blocked = facts === undefined ? undefined : blockedBy(facts, task.data);
    if (quorum === null || (facts !== undefined && blocked === undefined)) {
      const data = { uid, node, attempt };
      await task.record({ type: 'RecordLook', data: { type: 'ControlPlaneRemovalUnblocked', data } });
      return undefined;
    }
    if (blocked !== undefined && !isSame(blocked.data.quorum, quorum))
      await task.record({ type: 'RecordLook', data: blocked });
    return task.requeueAfter(Math.min(sinceMs, LOOK_MAX_MS), 'etcd still needs the control plane');
  }

  /** Returns undefined if etcd is unreachable, which changes nothing. */
  private async look({ data: { uid }, cluster: name, signal }: WatchTask): Promise<EtcdFacts | undefined> {
    try {
      const cluster = await this.clusters.of(uid, name);
      return await new Etcd(cluster, signal).facts(await cluster.nodes());
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ExternalFailure) return undefined;
      throw error;
    }
  }
}

const removalSaved = (
  uid: PrepareRemoval['uid'],
  snapshot: string,
  taken: TakenSnapshot,
): Fact<'EtcdSnapshotTaken'> => ({
  type: 'EtcdSnapshotTaken',
  data: { uid, requestId: snapshot, upgradeId: null, operation: null, snapshot, ...taken },
});

const leaderMoved = (uid: PrepareRemoval['uid'], node: NodeName, to: NodeName): Fact<'EtcdLeaderMoved'> => ({
  type: 'EtcdLeaderMoved',
  data: { uid, upgradeId: null, operation: null, node, to },
});
