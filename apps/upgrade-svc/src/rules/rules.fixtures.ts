import type { KubernetesVersion, NodeName, NodeRole, PlanOperation, PoolStrategy } from '@fairlead/contracts';
import { PoolStrategy as PoolStrategySchema } from '@fairlead/contracts';

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
