export type {
  BudgetView,
  ClusterApi,
  ClusterApis,
  CordonOptions,
  DeprecatedApiView,
  EvictionAnswer,
  JobState,
  LeaseView,
  Manifest,
  NodeMetadataChange,
  NodeView,
  PodIdentity,
  PodView,
  Program,
  ProgramEnd,
  Resources,
  SigningRequest,
  TemplateView,
  WebhookView,
  WorkloadView,
} from './cluster.ports.js';
export { CALL_TIMEOUT_MS, KubernetesClient, statusOf } from './kubernetes.client.js';
export { KubernetesClients, type KubernetesAccess } from './kubernetes.clients.js';
export type { ExecResult, ExecTarget } from './program.exec.js';
export {
  administratorFrom,
  kubeconfigOf,
  kubeconfigToSeal,
  oidcKubeconfigOf,
  sealedAdministrator,
  serverAt,
  signedCertificate,
  type Administrator,
  type ClientAccess,
  type ExpectedCluster,
  type RecordedCluster,
} from './kubeconfig.js';
