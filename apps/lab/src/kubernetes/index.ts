export type { SimulationDelays } from './clock/simulation.delays.js';
export type { SimulatedClusterOptions } from './cluster/cluster.options.js';
export { snapshotFrom, type ClusterSnapshot } from './cluster/cluster.snapshot.js';
export type { Written as ClusterEntry } from './store/object.store.js';
export { SimulatedCluster, type KubeletChange } from './cluster/simulated.cluster.js';
export {
  companionsOf,
  CONTROL_PLANE_COMPONENTS,
  etcdReportedBy,
  type ComponentFlags,
} from './controlplane/static.pods.planner.js';
export { EtcdMembers } from './etcd/etcd.members.js';
export type { EtcdUnderTool } from './etcd/etcd.tools.js';
export { RestoredEtcd } from './etcd/restored.etcd.js';
export type { ApiListener } from './http/api.listener.js';
export type { TokenAuthentication } from './http/identity.js';
export type { NodeRegistration } from './nodes/node.registration.js';
export { defaultTaints, UNINITIALIZED } from './nodes/node.planner.js';
export type { Taint } from './objects/core.types.js';
