export { CALL_TIMEOUT_MS, KubernetesClient, statusOf } from './kubernetes.client.js';
export { KubernetesClients, type KubernetesAccess } from './kubernetes.clients.js';
export type { ExecResult, ExecTarget } from './program.exec.js';
export {
  administratorFrom,
  kubeconfigOf,
  sealedAdministrator,
  serverAt,
  type Administrator,
  type ExpectedCluster,
  type RecordedCluster,
} from './kubeconfig.js';
