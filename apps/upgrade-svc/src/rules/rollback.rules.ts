import {
  fillTemplate,
  NEXT_ACTIONS,
  type Finding,
  isMinorChange,
  minorOf,
  type KubernetesRelease,
  minorsAhead,
  type NodeName,
  type NodeRole,
  releaseOf,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';
import { skewFindings, type Versions } from './skew.rules.js';

/**
 * G1: a failed operation is retried first: kubeadm's commands can be repeated, and kubeadm restores manifests itself.
 */
export const g1NextActions = (failed: readonly NodeName[], role: NodeRole | null): readonly string[] => [
  NEXT_ACTIONS.retry,
  ...(role === 'worker'
    ? failed.flatMap((node) => [
        fillTemplate(NEXT_ACTIONS.skip, { node }),
        fillTemplate(NEXT_ACTIONS.rollback, { node }),
      ])
    : []),
  NEXT_ACTIONS.abort,
];

/** G2: no rollback across a minor of etcd. */
export const g2NoWayBackOverEtcd = (
  [from, to]: readonly [from: string, to: string],
  releases?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const [old, now] = [releaseOf(to, releases)?.etcd, releaseOf(from, releases)?.etcd];
  return when(old !== undefined && now !== undefined && isMinorChange(old, now), () =>
    finding('G2.etcd', { from, to, etcdBefore: old, etcdNow: now }),
  );
};

/** G3: a failed worker may be rolled back if the version skew allows it. */
export const g3MayRollBack = (
  node: { readonly name: NodeName; readonly role: NodeRole; readonly failed: boolean },
  from: SoftwareVersions,
  versions: Versions,
): readonly Finding[] => {
  const kubelet = from['kubelet'];
  const back = versions.map((one) => (one.name === node.name && kubelet !== undefined ? { ...one, kubelet } : one));
  return [
    ...when(node.role !== 'worker', () => finding('G3.control-plane', { node: node.name })),
    ...when(!node.failed, () => finding('G3.not-failed', { node: node.name })),
    ...skewFindings(back)
      .filter(({ rule, facts }) => rule === 'A2' && facts['node'] === node.name && facts['version'] === kubelet)
      .map(({ facts }) =>
        finding('G3.skew', { ...facts, node: node.name, version: kubelet, apiServer: facts['apiServer'] }),
      ),
  ];
};

// G4: a restore is a separate operation (etcd/restore.decider.ts); the gateway requires the cluster's name as
// confirmation.

/** G5: since 1.33, binaries can emulate the previous minor (KEP-4330). */
export const g5MayEmulate = (from: string, to: string): readonly Finding[] => [
  ...when(minorsAhead('1.33', to) < 0, () => finding('G5.unsupported', { from, to })),
  ...when(minorsAhead(from, to) !== 1, () => finding('G5.not-one-minor', { from, to })),
];

const EMULATED = /^--emulated-version=(?:kube=)?v?(\d+\.\d+)/;

/** The minors that API servers emulate. */
export const emulatedIn = ({ nodes }: Pick<ClusterFacts, 'nodes'>): readonly string[] => [
  ...new Set(
    nodes
      .flatMap(({ staticPods }) => staticPods.filter(({ component }) => component === 'kube-apiserver'))
      .flatMap(({ args }) => args.flatMap((arg) => EMULATED.exec(arg)?.[1] ?? [])),
  ),
];

/**
 * G5: no rollback between the two steps. kubeadm's version policy would allow one minor back, but its preflight checks
 * reject a downgrade of CoreDNS, and it does not downgrade etcd (kubeadm v1.33.13 and v1.34.4: checkMigration,
 * performEtcdStaticPodUpgrade): the result would be a combination that is never released.
 */
export const g5NoWayBackBetweenSteps = (
  emulated: readonly string[],
  [from, to]: readonly [from: string, to: string],
  releases?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const [old, now] = [releaseOf(to, releases), releaseOf(from, releases)];
  return when(emulated.includes(minorOf(to)), () =>
    finding(
      'G5.between-steps',
      {
        from,
        to,
        emulated,
        ...(old === undefined || now === undefined
          ? {}
          : { coreDns: [now.coredns, old.coredns], etcd: [now.etcd, old.etcd] }),
      },
      { minor: minorOf(to) },
    ),
  );
};

/**
 * G5: the emulated version also increases one minor at a time: an emulation ends before an upgrade to a newer version.
 */
export const g5EmulationEndsFirst = (emulated: readonly string[], from: string, to: string): readonly Finding[] =>
  when(minorsAhead(from, to) > 0 && emulated.some((as) => minorsAhead(as, from) > 0), () =>
    finding('G5.emulating', { from, to, emulated }),
  );
