export type { KeyPair } from './certificates/certificate.authority.js';
export type { Cancel, Clock } from './clock/clock.js';
export { ManualClock } from './clock/manual.clock.js';
export { systemClock } from './clock/system.clock.js';
export type {
  NodeRegistration,
  NodeRole,
  SimulatedClusterOptions,
  SimulationDelays,
} from './cluster/cluster.options.js';
export { DEFAULT_DELAYS } from './cluster/cluster.options.js';
export type { ClusterSnapshot } from './cluster/cluster.snapshot.js';
export { EtcdMembers, type EtcdMember, type EtcdMemberReport } from './etcd/etcd.members.js';
export type { EtcdUnderTool } from './etcd/etcd.tools.js';
export { SimulatedCluster, type ListenWish } from './cluster/simulated.cluster.js';
export type { ApiListener } from './http/api.listener.js';
export type { Behaviour } from './kubelet/pod.planner.js';
export { CONTROL_PLANE_COMPONENTS, type ComponentFlags } from './controlplane/static.pods.planner.js';
export type { Node, Pod, Taint } from './objects/core.types.js';
export { RestoredEtcd } from './etcd/restored.etcd.js';
