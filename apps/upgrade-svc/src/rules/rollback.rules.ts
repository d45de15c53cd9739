import {
  type Finding,
  isMinorChange,
  minorOf,
  minorsAhead,
  type NodeName,
  type NodeRole,
  releaseOf,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { refusing, when } from './finding.js';
import { skewFindings, type Versions } from './skew.rules.js';

const no = (
  rule: 'G2' | 'G3' | 'G5',
  sentence: string,
  facts: Readonly<Record<string, unknown>>,
  help: string,
): Finding => refusing(rule, { sentence, facts, help });

/** G1: what failed is run again before anything else is tried: kubeadm's commands may be, and it restores manifests itself. */
export const g1NextActions = (failed: readonly NodeName[], role: NodeRole | null): readonly string[] => [
  'look at what it says, repair the cause, and run it again: "fairlead upgrade retry"',
  ...(role === 'worker'
    ? failed.flatMap((node) => [
        `leave it as it is: "fairlead upgrade skip ${node}"`,
        `give it its former software back: "fairlead upgrade rollback ${node}"`,
      ])
    : []),
  'end the rollout here: "fairlead upgrade abort"',
];

/** G2: nothing goes back over a minor of etcd. */
export const g2NoWayBackOverEtcd = (from: string, to: string): readonly Finding[] => {
  const [old, now] = [releaseOf(to)?.etcd, releaseOf(from)?.etcd];
  return when(old !== undefined && now !== undefined && isMinorChange(old, now), () =>
    no(
      'G2',
      `Kubernetes ${to} has etcd ${String(old)}, and ${String(now)} has written its data by now`,
      { from, to, etcdBefore: old, etcdNow: now },
      'Go forward ("fairlead upgrade retry"), or restore a snapshot, which also sets back what the cluster holds.',
    ),
  );
};

/** G3: a worker that failed may get its former software back, while the skew holds with it. */
export const g3MayRollBack = (
  node: { readonly name: NodeName; readonly role: NodeRole; readonly failed: boolean },
  from: SoftwareVersions,
  versions: Versions,
): readonly Finding[] => {
  const kubelet = from['kubelet'];
  const back = versions.map((one) => (one.name === node.name && kubelet !== undefined ? { ...one, kubelet } : one));
  return [
    ...when(node.role !== 'worker', () =>
      no('G3', `${node.name} is a control plane`, { node: node.name }, 'Retry it; what failed can be run again.'),
    ),
    ...when(!node.failed, () =>
      no('G3', `${node.name} has not failed in this rollout`, { node: node.name }, 'Healthy nodes are not touched.'),
    ),
    ...skewFindings(back)
      .filter(({ rule, facts }) => rule === 'A2' && facts['node'] === node.name && facts['version'] === kubelet)
      .map(({ sentence, facts, help }) => no('G3', sentence, facts, help)),
  ];
};

// G4: a restore is an operation of its own (etcd/restore.decider.ts); the gateway asks for the cluster's name before it states the request.

/** G5: binaries can emulate the minor before them, from 1.33 on (KEP-4330). */
export const g5MayEmulate = (from: string, to: string): readonly Finding[] => [
  ...when(minorsAhead('1.33', to) < 0, () =>
    no('G5', `API servers of ${to} cannot behave as ${from} yet`, { from, to }, 'Leave twoStep away.'),
  ),
  ...when(minorsAhead(from, to) !== 1, () =>
    no('G5', 'only a step of one minor can be made in two', { from, to }, 'Leave twoStep away.'),
  ),
];

const EMULATED = /^--emulated-version=(?:kube=)?v?(\d+\.\d+)/;

/** The minors that API servers behave as, where it is not their own. */
export const emulatedIn = ({ nodes }: Pick<ClusterFacts, 'nodes'>): readonly string[] => [
  ...new Set(
    nodes
      .flatMap(({ staticPods }) => staticPods.filter(({ component }) => component === 'kube-apiserver'))
      .flatMap(({ args }) => args.flatMap((arg) => EMULATED.exec(arg)?.[1] ?? [])),
  ),
];

/**
 * G5: between the two steps the binaries from before do not come back. kubeadm's own version policy would take one minor back, but
 * its preflight refuses to migrate CoreDNS down, and it leaves etcd where it is (kubeadm v1.33.13 and v1.34.4: checkMigration,
 * performEtcdStaticPodUpgrade): what came of it would be a mixture that no one releases.
 */
export const g5NoWayBackBetweenSteps = (emulated: readonly string[], from: string, to: string): readonly Finding[] => {
  const [old, now] = [releaseOf(to), releaseOf(from)];
  return when(emulated.includes(minorOf(to)), () =>
    no(
      'G5',
      `API servers of ${from} behave as ${minorOf(to)} already, and kubeadm ${to} takes neither CoreDNS nor etcd back to its own`,
      {
        from,
        to,
        emulated,
        ...(old === undefined || now === undefined
          ? {}
          : { coreDns: [now.coredns, old.coredns], etcd: [now.etcd, old.etcd] }),
      },
      `Stay as it is for as long as you like, or go on to ${from}; a snapshot sets back what the cluster holds.`,
    ),
  );
};

/** G5: what an API server behaves as goes up one minor at a time, too: an emulation ends before a newer version begins. */
export const g5EmulationEndsFirst = (emulated: readonly string[], from: string, to: string): readonly Finding[] =>
  when(minorsAhead(from, to) > 0 && emulated.some((as) => minorsAhead(as, from) > 0), () =>
    no(
      'G5',
      `API servers of ${from} still behave as ${emulated.join(', ')}: ${to} would skip a minor for whoever asks them`,
      { from, to, emulated },
      `Ask for ${from} first: that ends the emulation.`,
    ),
  );
