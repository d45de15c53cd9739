import { majorityOf, type Cause, type EventData, type NodeName } from '@fairlead/contracts';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { c8MayLeave, removalQuorumOf } from '../rules/control-plane.rules.js';
import { CLUSTER_ACCESS, SNAPSHOT_KEEPER } from '../tokens.js';
import { Etcd } from './etcd.effects.js';
import { removalSnapshot, type RecordRemoval, type Removals } from './removals.decider.js';
import type { PrepareRemoval } from './removals.reconciler.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';

type RemovalTask = TaskContext<Removals, RecordRemoval, PrepareRemoval>;
type RemovalQuorum = EventData<'ControlPlaneRemovalPrepared'>['quorum'];

const OPERATION = 'remove a control plane';

const noQuorum = (node: NodeName, { healthy, target }: RemovalQuorum, itIsHealthy: boolean): Cause => ({
  operation: OPERATION,
  target: node,
  message: `etcd would have ${healthy - (itIsHealthy ? 1 : 0)} healthy of ${target} voters, and needs ${majorityOf(Math.max(target, 1))}`,
});

/** Makes etcd ready for the departure of a control plane, by what its members answer at that moment. */
@Controller()
export class RemovalsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SNAPSHOT_KEEPER) private readonly keeper: SnapshotKeeper,
  ) {}

  @OnTask('PrepareRemoval', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  async prepareRemoval(task: RemovalTask): Promise<void> {
    const { namespace, cluster: name, signal } = task;
    const { uid, node, attempt } = task.data;
    const cluster = await this.clusters.of(uid, name);
    const etcd = new Etcd(cluster, signal);
    const nodes = await cluster.nodes();
    const before = await etcd.facts(nodes);
    const quorum = removalQuorumOf(before, node);
    if (!c8MayLeave(before, node)) {
      const itIsHealthy = before.members.some((member) => member.node === node && member.healthy && !member.learner);
      const data = { uid, node, attempt, quorum, cause: noQuorum(node, quorum, itIsHealthy) };
      await task.record({ type: 'RecordRemoval', data: { outcome: { type: 'ControlPlaneRemovalBlocked', data } } });
      return;
    }
    const owner = { namespace, cluster: name, uid };
    const snapshot = removalSnapshot(name, { node, attempt });
    const taken = await this.keeper.save(cluster, snapshot, owner, signal);
    const leader = await etcd.moveLeaderAway(await etcd.facts(nodes), node);
    const saved = { uid, requestId: snapshot, upgradeId: null, operation: null, snapshot, ...taken };
    await task.record({
      type: 'RecordRemoval',
      data: {
        snapshot: { type: 'EtcdSnapshotTaken', data: saved },
        outcome: {
          type: 'ControlPlaneRemovalPrepared',
          data: { uid, node, attempt, quorum, snapshot, leader },
        },
      },
    });
  }
}
