import {
  GATES,
  type GateName,
  type KubernetesRelease,
  type NodeName,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';
import type { KnownCluster } from '../rollout/rollout.state.js';
import type { Etcd } from '../etcd/etcd.effects.js';
import { dnsRolledOut, kubeProxyRolledOut } from './addon.gates.js';
import { apiAnswers, clusterHealthy, leasesRenew } from './cluster.gates.js';
import { etcdHealthy, etcdLeader, etcdMember, etcdQuorum } from './etcd.gates.js';
import { apiServerAnswers, daemonSetsReady, nodeReady, staticPodsAtTarget } from './node.gates.js';

/** What a gate may look at. */
export interface GateLook {
  readonly cluster: UpgradeCluster;
  readonly etcd: Etcd;
  readonly survey: ClusterSurvey;
  readonly known: KnownCluster;
  /** Need be neither Ready nor healthy members of etcd. */
  readonly excused: readonly NodeName[];
  /** Absent: the gate is about the cluster. */
  readonly node: NodeName | null;
  /** What must be seen on the node. */
  readonly software: SoftwareVersions;
  /** What the operation brings the cluster to; undefined: it leaves Kubernetes as it is. */
  readonly release: KubernetesRelease | undefined;
  /** Between two looks at what must have moved or stayed well. */
  readonly rest: (why: 'passes' | 'leases') => Promise<void>;
}

export type Verdict =
  | { readonly holds: true; readonly facts: Readonly<Record<string, unknown>> }
  | { readonly holds: false; readonly facts: Readonly<Record<string, unknown>>; readonly message: string };

export type Gate = (look: GateLook) => Promise<Verdict>;

const OWN_GATES: Readonly<Record<keyof typeof GATES, Gate>> = {
  'cluster-healthy': clusterHealthy,
  'etcd-healthy': etcdHealthy,
  'etcd-quorum': etcdQuorum,
  'etcd-leader': etcdLeader,
  'api-answers': apiAnswers,
  'static-pods': staticPodsAtTarget,
  'api-server': apiServerAnswers,
  'etcd-member': etcdMember,
  leases: leasesRenew,
  'node-ready': nodeReady,
  daemonsets: daemonSetsReady,
  'kube-proxy': kubeProxyRolledOut,
  dns: dnsRolledOut,
};

const isOwn = (gate: GateName): gate is keyof typeof GATES => Object.hasOwn(GATES, gate);

/** The gate of that name; undefined: it is one of the user's. */
export const ownGate = (gate: GateName): Gate | undefined => (isOwn(gate) ? OWN_GATES[gate] : undefined);

/** The rule that a gate stands for. */
export const ruleOfGate = (gate: GateName): string => (isOwn(gate) ? GATES[gate].rule : 'D7');
