import type { KubernetesVersion, NodeName, NodeRole, PlanOperation, PoolStrategy } from '@fairlead/contracts';
import { PoolStrategy as PoolStrategySchema } from '@fairlead/contracts';
import type { InstalledFacts } from './cluster.facts.js';

/** Values for specs of rules. */
export const poolStrategy = (strategy: Partial<PoolStrategy> = {}): PoolStrategy => PoolStrategySchema.parse(strategy);

type Draft = Omit<PlanOperation, 'id' | 'batch'>;

export const kubeletTo = (node: NodeName, role: NodeRole, from: string, to: string): Draft => ({
  kind: role,
  node,
  nodes: [node],
  role,
  pool: role === 'worker' ? 'w' : 'control-plane',
  canary: false,
  from: { kubeadm: from, kubelet: from, kubectl: from },
  to: { kubeadm: to, kubelet: to, kubectl: to },
  change: {
    id: `u-1/${node}`,
    kubeadm: 'node',
    kubernetes: `v${to}` as KubernetesVersion,
    renewCertificates: false,
    reboot: false,
    balancedEndpoint: null,
    stopApiServerFirst: false,
    emulatedVersion: null,
  },
  drain: true,
  reason: 'a spec wants it',
  predictedSeconds: 45,
});

export const upgradeOf = (...drafts: readonly Draft[]): readonly PlanOperation[] =>
  drafts.map((draft, index) => ({ ...draft, id: `op-${String(index + 1).padStart(2, '0')}`, batch: index }));

/** The objects of kubeadm 1.33 in kube-system. */
export const INSTALLED: InstalledFacts = {
  config: {
    imageRepository: 'registry.k8s.io',
    dns: { imageRepository: 'registry.k8s.io/coredns', imageTag: null },
    disabled: [],
    controlPlaneEndpoint: 'demo.example.org:6443',
    featureGates: {},
  },
  templates: {
    coredns: {
      image: 'registry.k8s.io/coredns/coredns:v1.11.1',
      args: ['-conf', '/etc/coredns/Corefile'],
      environment: [],
      resources: ['limits.memory=170Mi', 'requests.cpu=100m', 'requests.memory=70Mi'],
      containers: [],
      volumes: ['config-volume', 'config-volume/Corefile'],
      nodeSelector: ['nodeSelector kubernetes.io/os=linux'],
      tolerations: ['toleration CriticalAddonsOnly', 'toleration node-role.kubernetes.io/control-plane:NoSchedule'],
      placement: ['podAntiAffinity'],
    },
    'kube-proxy': {
      image: 'registry.k8s.io/kube-proxy:v1.33.13',
      args: [
        '/usr/local/bin/kube-proxy',
        '--config=/var/lib/kube-proxy/config.conf',
        '--hostname-override=$(NODE_NAME)',
      ],
      environment: ['NODE_NAME', 'HTTPS_PROXY'],
      resources: [],
      containers: [],
      volumes: ['kube-proxy', 'xtables-lock', 'lib-modules'],
      nodeSelector: ['nodeSelector kubernetes.io/os=linux'],
      tolerations: ['toleration every taint'],
      placement: [],
    },
  },
  kubeProxyConfig: { keys: ['config.conf', 'kubeconfig.conf'], server: 'https://demo.example.org:6443' },
  kubeletFields: {},
};
