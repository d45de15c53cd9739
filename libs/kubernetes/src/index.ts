export { CALL_TIMEOUT_MS, KubernetesClient, statusOf, type ExecTarget, type ExecResult } from './kubernetes.client.js';
export { KubernetesClients, type KubernetesAccess } from './kubernetes.clients.js';
