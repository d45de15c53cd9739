import { API_PORT, type Cluster, type KubeadmNodeSpec } from '../clusters/clusters.js';
import { installedVersion } from '../commands/apt.commands.js';
import type { CommandCall } from '../commands/command.js';
import { containerdVersion } from '../commands/container.commands.js';
import type { Host } from '../hosts/host.js';
import { companionsOf, defaultTaints, UNINITIALIZED } from '../kubernetes/index.js';
import type { NodeRequest } from './kubeadm.requests.js';

const SIMULATED = '# Simulated by Fairlead lab: nothing secret is in this file.\n';

const CONTROL_PLANE_COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** Keys and certificates that exist on a real control plane but are never read on a simulated one. */
const PKI_FILES = [
  'ca.key',
  'apiserver.crt',
  'apiserver.key',
  'apiserver-kubelet-client.crt',
  'apiserver-kubelet-client.key',
  'front-proxy-ca.crt',
  'front-proxy-ca.key',
  'front-proxy-client.crt',
  'front-proxy-client.key',
  'sa.key',
  'sa.pub',
  'etcd/ca.crt',
  'etcd/ca.key',
  'etcd/server.crt',
  'etcd/server.key',
  'etcd/peer.crt',
  'etcd/peer.key',
  'etcd/healthcheck-client.crt',
  'etcd/healthcheck-client.key',
] as const;

const PRIVATE = 0o600;

/** Writes the certificates of a control plane. */
export const writePki = async ({ files }: Host, cluster: Cluster): Promise<void> => {
  await files.writeText('/etc/kubernetes/pki/ca.crt', cluster.kubernetes.caPem);
  const own = PKI_FILES.filter((name) => !cluster.kubernetes.externalEtcd || !name.startsWith('etcd/'));
  for (const name of own) await files.writeText(`/etc/kubernetes/pki/${name}`, SIMULATED, PRIVATE);
};

/** The part of the etcd manifest that identifies the member, as kubeadm writes it. */
const etcdSpec = (host: Host, node: string): string => {
  const { address } = host.facts;
  const { etcd } = companionsOf(`v${installedVersion(host, 'kubeadm') ?? '0.0.0'}`);
  return [
    'spec:',
    '  containers:',
    '  - command:',
    '    - etcd',
    '    - --data-dir=/var/lib/etcd',
    `    - --initial-advertise-peer-urls=https://${address}:2380`,
    `    - --initial-cluster=${node}=https://${address}:2380`,
    `    - --name=${node}`,
    `    image: registry.k8s.io/etcd:${etcd}`,
    '    name: etcd',
    '',
  ].join('\n');
};

/** The part of the API server's manifest with flags in addition to those of kubeadm. */
const apiServerSpec = ({ apiServerFlags }: Cluster): string =>
  [
    'spec:',
    '  containers:',
    '  - command:',
    '    - kube-apiserver',
    ...apiServerFlags.map((flag) => `    - ${flag}`),
    '',
  ].join('\n');

const specOf = (component: string, host: Host, cluster: Cluster, node: string): string => {
  if (component === 'etcd') return etcdSpec(host, node);
  return component === 'kube-apiserver' && cluster.apiServerFlags.length > 0 ? apiServerSpec(cluster) : '';
};

const SUPER_ADMIN = 'super-admin.conf';
const KUBECONFIGS = ['admin.conf', 'controller-manager.conf', 'scheduler.conf'] as const;

/**
 * The certificates of the control plane are valid for another year; kubeconfigs that were removed are not recreated.
 */
export const renewCertificates = async (host: Host, { endpoint, kubernetes }: Cluster): Promise<void> => {
  host.record.certificatesAtMs = Date.now();
  host.changed();
  kubernetes.renewAdministrator();
  const admin = await kubernetes.kubeconfig({ server: `https://${endpoint}`, user: 'admin' });
  for (const name of [...KUBECONFIGS, SUPER_ADMIN]) {
    const path = `/etc/kubernetes/${name}`;
    if (await host.files.exists(path)) await host.files.writeText(path, admin, PRIVATE);
  }
};

/**
 * Writes the static pods of a control plane and the kubeconfigs of its components. admin.conf uses the load balancer's
 * address.
 */
export const writeControlPlane = async (host: Host, cluster: Cluster, node: string): Promise<void> => {
  const { files } = host;
  const admin = await cluster.kubernetes.kubeconfig({ server: `https://${cluster.endpoint}`, user: 'admin' });
  for (const name of KUBECONFIGS) await files.writeText(`/etc/kubernetes/${name}`, admin, PRIVATE);
  const { externalEtcd } = cluster.kubernetes;
  for (const component of CONTROL_PLANE_COMPONENTS.filter((name) => name !== 'etcd' || !externalEtcd)) {
    const manifest = `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${component}\n  namespace: kube-system\n`;
    const spec = specOf(component, host, cluster, node);
    await files.writeText(`/etc/kubernetes/manifests/${component}.yaml`, SIMULATED + manifest + spec, PRIVATE);
  }
  if (!externalEtcd) await files.writeText('/var/lib/etcd/member/snap/db', SIMULATED, PRIVATE);
};

/** Only `kubeadm init` writes it; control planes that join do not have it. */
export const writeSuperAdmin = async (host: Host, cluster: Cluster): Promise<void> => {
  const text = await cluster.kubernetes.kubeconfig({ server: `https://${cluster.endpoint}`, user: 'admin' });
  await host.files.writeText(`/etc/kubernetes/${SUPER_ADMIN}`, text, PRIVATE);
};

/**
 * Writes the kubelet's files and starts it. As with kubeadm, the kubelet of a control plane uses its own API server.
 */
export const startKubelet = async (
  call: CommandCall,
  cluster: Cluster,
  node: string,
  local: boolean,
): Promise<void> => {
  const { host, world, signal } = call;
  const server = local ? `https://${host.facts.address}:${API_PORT}` : `https://${cluster.endpoint}`;
  const kubeconfig = await cluster.kubernetes.kubeconfig({ server, user: { node } });
  await host.files.writeText('/etc/kubernetes/kubelet.conf', kubeconfig, PRIVATE);
  await host.files.writeText('/etc/kubernetes/pki/ca.crt', cluster.kubernetes.caPem);
  await host.files.writeText(
    '/var/lib/kubelet/config.yaml',
    `${SIMULATED}apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n`,
  );
  await host.files.writeText('/var/lib/kubelet/kubeadm-flags.env', 'KUBELET_KUBEADM_ARGS=""\n');
  call.out('[kubelet-start] Writing kubelet configuration to file "/var/lib/kubelet/config.yaml"');
  call.out('[kubelet-start] Starting the kubelet');
  await world.delays('kubeletStart', signal);
  await host.services.restart('kubelet');
};

/** A kubelet adds its own taint to those that kubeadm gives it. */
const taintsOf = ({ taints, hasCloudController }: NodeRequest, role: KubeadmNodeSpec['role']): NodeRequest['taints'] =>
  hasCloudController === true ? [...(taints ?? defaultTaints(role)), UNINITIALIZED] : taints;

export const nodeRequest = (host: Host, request: NodeRequest, role: KubeadmNodeSpec['role']): KubeadmNodeSpec => ({
  name: request.name,
  role,
  labels: request.labels,
  providerId: request.providerId,
  taints: taintsOf(request, role),
  kubeletVersion: `v${installedVersion(host, 'kubelet') ?? '0.0.0'}`,
  containerRuntimeVersion: `containerd://${containerdVersion(host) ?? '0.0.0'}`,
});
