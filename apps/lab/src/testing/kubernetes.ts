// For specs of other projects: a simulated cluster without hosts.
export { etcdctl, etcdutl } from '../kubernetes/etcd/etcd.tools.js';
export {
  SimulatedCluster,
  type ApiListener,
  type EtcdUnderTool,
  type SimulatedClusterOptions,
} from '../kubernetes/index.js';
