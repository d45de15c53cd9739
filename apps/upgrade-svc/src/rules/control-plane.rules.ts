import {
  releaseOf,
  type Finding,
  type GateName,
  type KubernetesRelease,
  type NodeName,
  type PlanOperation,
} from '@fairlead/contracts';
import { c8MayRemove, majorityOf, type Quorum } from '@fairlead/domain';
import type { ClusterFacts, EtcdFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

/** C1: evaluated before each control plane, whatever the result of the previous one. */
export const c1GatesBefore: readonly GateName[] = [
  'api-answers',
  'cluster-healthy',
  'etcd-healthy',
  'etcd-quorum',
  'etcd-leader',
];

/**
 * C2: drained, unless no other node could run its pods. Custom taints are not considered: pods that they repel stay
 * Pending and are reported.
 */
export const c2MayDrain = (facts: Pick<ClusterFacts, 'nodes'>, node: NodeName): boolean =>
  facts.nodes.some(({ name, ready, unschedulable }) => name !== node && ready && !unschedulable);

/**
 * C2: the etcd leader after a control plane that currently leads: an upgraded one if there is one, otherwise the next.
 */
export const c2NextLeader = (
  leader: NodeName | null,
  node: NodeName,
  controlPlanes: readonly { readonly name: NodeName; readonly done: boolean }[],
): NodeName | null => {
  if (leader !== node) return null;
  const others = controlPlanes.filter(({ name }) => name !== node);
  return (others.find(({ done }) => done) ?? others[0])?.name ?? null;
};

/** C2: the leader is upgraded last, so the current leader is postponed while others of the same pass are left. */
export const c2LeaderGivesWay = (
  leader: NodeName | null,
  node: NodeName,
  left: readonly { readonly node: NodeName | null; readonly postponed: boolean }[],
): boolean => leader === node && left.some((other) => other.node !== node && !other.postponed);

/** C3: etcd restarts when its image changes, so the API server must be shut down cleanly before. */
export const c3StopApiServerFirst = (from: string, to: string, releases?: readonly KubernetesRelease[]): boolean =>
  releaseOf(from, releases)?.etcd !== releaseOf(to, releases)?.etcd;

/** C4: `apply` only on the first control plane of a step, because it changes cluster-wide objects. */
export const c4KubeadmCommand = (othersBegan: boolean): 'apply' | 'node' => (othersBegan ? 'node' : 'apply');

/** C5: a control plane is done once all of these gates hold. None of them is a fixed delay. */
export const c5GatesAfter: readonly GateName[] = [
  'static-pods',
  'api-server',
  'etcd-member',
  'leases',
  'node-ready',
  'daemonsets',
];

/**
 * C6: the kubelet of a control plane is upgraded together with it if it uses only the local API server; otherwise in a
 * second pass once every API server is upgraded, because it could reach older ones through a load balancer.
 */
export const c6KubeletGoesAlong = (facts: Pick<ClusterFacts, 'nodes'>): boolean => {
  const controlPlanes = facts.nodes.filter(({ role }) => role === 'control-plane');
  return controlPlanes.length === 1 || controlPlanes.every((node) => node.kubeletTalksToLocalApi === true);
};

/**
 * C7: control planes that are upgraded in place have no surge: an additional etcd member would be a risk for no gain.
 * The surge of replaced ones is declared in their rollout.
 */
export const c7NoSurge = (maxSurge: number | string | undefined): readonly Finding[] =>
  when(maxSurge !== undefined && maxSurge !== 0 && maxSurge !== '0%', () => finding('C7.surge', { maxSurge }));

/** C7: a new control plane cannot emulate the version before, and the old one leaves with its binaries. */
export const c7NoTwoSteps = (twoStep: boolean, isReplaced: boolean): readonly Finding[] =>
  when(twoStep && isReplaced, () => finding('C7.two-steps', {}));

/** C8, temporarily unavailable: the remaining members are a majority of all. A single member has no quorum to lose. */
export const c8MayPause = ({ members, healthy }: Quorum, itIsHealthy: boolean): boolean =>
  members === 1 || healthy - (itIsHealthy ? 1 : 0) >= majorityOf(members);

export const quorumOf = ({ members }: EtcdFacts): Quorum => ({
  members: members.length,
  healthy: members.filter(({ started, healthy, learner }) => started && healthy && !learner).length,
});

/** Members that count for the quorum. A learner does not vote; a member that has not started yet does. */
const votersOf = ({ members }: EtcdFacts): EtcdFacts['members'] => members.filter(({ learner }) => !learner);

const isHealthyVoter = ({ started, healthy }: EtcdFacts['members'][number]): boolean => started && healthy;

/** Current voters, the healthy ones among them, and the number of voters after the node has left. */
export const removalQuorumOf = (
  etcd: EtcdFacts,
  node: NodeName,
): { readonly voters: number; readonly healthy: number; readonly target: number } => {
  const voters = votersOf(etcd);
  return {
    voters: voters.length,
    healthy: voters.filter(isHealthyVoter).length,
    target: voters.filter((member) => member.name !== node).length,
  };
};

/** C8, permanent removal, based on the current state of etcd. A node without a voter does not reduce their number. */
export const c8MayLeave = (etcd: EtcdFacts, node: NodeName): boolean => {
  const { voters: members, healthy } = removalQuorumOf(etcd, node);
  const voter = votersOf(etcd).find(({ name }) => name === node);
  if (voter === undefined) return healthy >= majorityOf(members);
  return members > 1 && c8MayRemove({ members, healthy }, isHealthyVoter(voter));
};

/** C8 as a finding, based on the current state of etcd. */
export const c8QuorumWithout = (etcd: EtcdFacts, node: NodeName): readonly Finding[] => {
  const quorum = quorumOf(etcd);
  const itIsHealthy = etcd.members.some((member) => member.node === node && member.healthy);
  return when(!c8MayPause(quorum, itIsHealthy), () =>
    finding('C8.quorum', { ...quorum, node, majority: majorityOf(quorum.members) }),
  );
};

/**
 * C9: kubeadm upgrades them with the last control plane of a step, and no other node is changed before they have rolled
 * out.
 */
export const c9AddonGates: readonly GateName[] = ['kube-proxy', 'dns'];

/** C9: evaluated before the first worker. */
export const c9GatesFinish: readonly GateName[] = [...c9AddonGates, 'cluster-healthy', 'etcd-healthy'];

/** C9: a worker may start once no control plane of its step is left and the addons are compatible. */
export const c9WorkersMayBegin = (
  operations: readonly { readonly operation: PlanOperation; readonly ended: boolean }[],
  worker: PlanOperation,
): boolean =>
  operations.every(
    ({ operation: { kind, batch }, ended }) =>
      ended || batch >= worker.batch || !(kind === 'control-plane' || kind === 'addons' || kind === 'replace'),
  );
