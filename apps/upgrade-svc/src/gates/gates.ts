import { GATES, type GateName } from '@fairlead/contracts';
import { addonsWhole, dnsRolledOut, kubeProxyRolledOut } from './addon.gates.js';
import { apiAnswers, clusterHealthy, leasesRenew } from './cluster.gates.js';
import type { Gate } from './gate.js';
import { etcdHealthy, etcdLeader, etcdMember, etcdQuorum } from './etcd.gates.js';
import { apiServerAnswers, daemonSetsReady, nodeReady, staticPodsAtTarget } from './node.gates.js';

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
  'add-ons': addonsWhole,
};

const isOwn = (gate: GateName): gate is keyof typeof GATES => Object.hasOwn(GATES, gate);

/** The built-in gate of that name; undefined: it is user-defined. */
export const ownGate = (gate: GateName): Gate | undefined => (isOwn(gate) ? OWN_GATES[gate] : undefined);

/** The rule of a gate. */
export const ruleOfGate = (gate: GateName): string => (isOwn(gate) ? GATES[gate].rule : 'D7');
