import type { Manifest } from '../kubernetes/kubernetes.ports.js';

type Json = Readonly<Record<string, unknown>>;

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export const namespaceOf = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  // These pods configure the network of nodes, so they need the host network and capabilities.
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
});

/** A service account with these cluster-wide permissions. */
export const clusterAccount = (name: string, namespace: string, rules: readonly Rule[]): readonly Manifest[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  },
];

/** Permissions of a service account within this namespace, in addition to its cluster-wide ones. */
export const namespacedRole = (
  name: string,
  namespace: string,
  account: string,
  rules: readonly Rule[],
): readonly Manifest[] => [
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name, namespace }, rules },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  },
];

export const configMap = (name: string, namespace: string, data: Readonly<Record<string, string>>): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

/** Runs a pod on every node, including nodes that are not Ready, which need it to become Ready. */
export const nodeDaemon = (
  name: string,
  namespace: string,
  pod: Json,
  labels: Readonly<Record<string, string>> = { 'app.kubernetes.io/name': name },
): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name, namespace, labels },
  spec: {
    selector: { matchLabels: labels },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels },
      spec: {
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [
          { operator: 'Exists', effect: 'NoSchedule' },
          { operator: 'Exists', effect: 'NoExecute' },
        ],
        ...pod,
      },
    },
  },
});

export const hostPath = (name: string, path: string, type = 'DirectoryOrCreate'): Json => ({
  name,
  hostPath: { path, type },
});

export const mount = (name: string, mountPath: string): Json => ({ name, mountPath });

export const fromField = (name: string, fieldPath: string): Json => ({ name, valueFrom: { fieldRef: { fieldPath } } });

/** Where CNI plugins write their files; kubelets report the network as ready once a file exists. */
export const CNI_CONFIGURATION = hostPath('cni-conf', '/etc/cni/net.d');
export const CNI_PROGRAMS = hostPath('cni-bin', '/opt/cni/bin');
