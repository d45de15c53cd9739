import type { AzimuthPhase } from '@fairlead/contracts';
import { azimuthPhase, type AzimuthControlPlane, type AzimuthNode, type AzimuthParts } from '@fairlead/domain';
import type { ConditionFacts, NodeFacts } from './condition.facts.js';
import type { Condition } from './conditions.js';
import { isControlPlane } from './condition.reading.js';

/** Its leases end after the deletion of the cluster: while that is in progress, only one that has ended counts. */
const leaseOf = ({ lease, phase, now }: ConditionFacts): Pick<AzimuthParts, 'lease'> => {
  if (lease === undefined) return {};
  const { startsAt, endsAt, reservations } = lease;
  if (endsAt <= now) return { lease: 'Terminating' };
  if (phase === 'Deleting') return { lease: 'Active' };
  if (reservations.some((one) => one.phase === 'Denied')) return { lease: 'Error' };
  const isPending = (startsAt !== null && startsAt > now) || reservations.some((one) => one.phase === 'Pending');
  return { lease: isPending ? 'Pending' : 'Active' };
};

const networkOf = ({ phase, marks }: ConditionFacts): AzimuthParts['network'] => {
  if (phase === 'Deleting') return 'Deleting';
  if (marks.machines !== undefined) return 'Provisioned';
  if (phase === 'Failed') return 'Failed';
  return phase === 'Pending' ? 'Pending' : 'Provisioning';
};

const ROLLING: ReadonlySet<string> = new Set(['Approved', 'Running', 'Waiting', 'Paused', 'Aborting']);
const OF_CONTROL_PLANE: ReadonlySet<string> = new Set(['Available', 'ControlPlaneReady', 'EtcdHealthy']);
const OF_NODES: ReadonlySet<string> = new Set(['NodesReady', 'MachinesReady', 'MachinesPresent', 'NodesPresent']);

const isDegraded = (conditions: readonly Condition[], of: ReadonlySet<string>): boolean =>
  conditions.some(({ type, calls }) => of.has(type) && calls === 'Degraded');

const controlPlaneOf = (facts: ConditionFacts, conditions: readonly Condition[]): AzimuthControlPlane => {
  const { phase, marks, upgrade, etcd } = facts;
  if (phase === 'Failed') return 'Failed';
  if (marks.controlPlane === undefined) return 'Pending';
  // Until the cluster is called Ready, its creation is not done.
  if (phase !== 'Provisioned') return 'ScalingUp';
  if (upgrade !== null && ROLLING.has(upgrade.phase)) return 'Upgrading';
  if (etcd.some(({ what }) => what === 'restore')) return 'Pending';
  const nodes = facts.nodes.filter(isControlPlane);
  if (nodes.some(({ isRemoving }) => isRemoving)) return 'ScalingDown';
  if (nodes.some(({ wasReady }) => !wasReady)) return 'ScalingUp';
  return isDegraded(conditions, OF_CONTROL_PLANE) ? 'Unhealthy' : 'Ready';
};

const nodePhase = (node: NodeFacts): AzimuthNode['phase'] => {
  if (node.isRemoving) return 'Deleting';
  if (!node.wasReady) return 'Provisioning';
  if (node.away !== undefined) return 'Failed';
  if (node.isLost) return 'Unknown';
  if (node.isReady) return 'Ready';
  return node.isBeingChanged === true ? 'Provisioning' : 'Unhealthy';
};

const nodesOf = ({ nodes }: ConditionFacts, conditions: readonly Condition[]): readonly AzimuthNode[] => [
  ...nodes.map((node) => ({
    role: node.role,
    phase: nodePhase(node),
    // A kubelet that something else than Fairlead replaced is drift, and no upgrade.
    kubelet: node.drift === undefined ? node.kubelet : undefined,
  })),
  // Machines that were given up, or that nothing removes, are nodes that there should be, or not.
  ...(isDegraded(conditions, OF_NODES) ? [{ role: 'worker', phase: 'Failed', kubelet: undefined } as const] : []),
];

/** A cluster in the words of azimuth. */
export const azimuthParts = (facts: ConditionFacts, conditions: readonly Condition[]): AzimuthParts => ({
  ...leaseOf(facts),
  network: networkOf(facts),
  controlPlane: controlPlaneOf(facts, conditions),
  nodes: nodesOf(facts, conditions),
  addons: [...(facts.addons?.addons ?? []), ...(facts.addons?.releases ?? [])].map(({ phase }) => phase),
});

/** A rollout that has halted takes longer than any limit: someone has to act. */
const isStuck = (conditions: readonly Condition[]): boolean =>
  conditions.some(({ reason }) => reason === 'StepTimedOut' || reason === 'UpgradeHalted');

export const azimuthPhaseOf = (facts: ConditionFacts, conditions: readonly Condition[]): AzimuthPhase =>
  azimuthPhase(azimuthParts(facts, conditions), isStuck(conditions));
