import type { NodeName, StoredEvent } from '@fairlead/contracts';
import type { ClusterState, DrainState, OperationState, RolloutNode, Upgrade } from './rollout.state.js';

const mapped = <Value>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** Restarts a running timeout. */
const begunAgain = (since: string | null, time: string): string | null => (since === null ? null : time);

const drainAgain = (drain: DrainState, time: string): DrainState =>
  drain.cordon === null
    ? drain
    : { ...drain, cordon: { ...drain.cordon, since: begunAgain(drain.cordon.since, time) } };

const operationAgain = (operation: OperationState, time: string): OperationState =>
  operation.status === 'open' || operation.leaveOutAt !== null
    ? {
        ...operation,
        leaveOutAt: begunAgain(operation.leaveOutAt, time),
        startedAt: begunAgain(operation.startedAt, time),
        changedAt: begunAgain(operation.changedAt, time),
        readyAt: begunAgain(operation.readyAt, time),
        effectAt: begunAgain(operation.effectAt, time),
        drains: mapped(operation.drains, (drain) => drainAgain(drain, time)),
      }
    : operation;

const upgradeAgain = (upgrade: Upgrade, time: string): Upgrade => ({
  ...upgrade,
  abortAskedAt: begunAgain(upgrade.abortAskedAt, time),
  operations: mapped(upgrade.operations, (operation) => operationAgain(operation, time)),
});

const nodeAgain = (node: RolloutNode, time: string): RolloutNode => ({
  ...node,
  unwellSince: begunAgain(node.unwellSince, time),
});

/** Nothing progressed while the cluster was paused, so every timeout starts again when it is resumed. */
const resumed = ({ isPaused: _paused, ...cluster }: ClusterState, time: string): ClusterState => ({
  ...cluster,
  nodes: mapped(cluster.nodes, (node) => nodeAgain(node, time)) as Readonly<Record<NodeName, RolloutNode>>,
  upgrade: cluster.upgrade === null ? null : upgradeAgain(cluster.upgrade, time),
});

/** Whether the cluster is paused after an event. */
export const evolvePause = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  switch (event.type) {
    case 'ClusterPaused':
      return { ...cluster, isPaused: true };
    case 'ClusterResumed':
      return resumed(cluster, event.meta.time);
    default:
      return cluster;
  }
};
