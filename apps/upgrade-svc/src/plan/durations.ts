import type { PlanOperation } from '@fairlead/contracts';

/**
 * Seconds that operations take: measured on five real hosts with two cores, v1.33.13 to v1.34.4 (docs/performance.md),
 * until replaced by the durations of a cluster's own operations.
 */
const DURATIONS = {
  stage: 20,
  'snapshot-etcd': 5,
  'control-plane': 102,
  'control-plane.node': 85,
  'control-plane.kubelet': 20,
  'control-plane.certificates': 60,
  replace: 180,
  addons: 15,
  'book-surge': 120,
  'mark-workers': 1,
  worker: 45,
  'worker.undrained': 12,
  'return-surge': 60,
  boot: 30,
} as const;

export type DurationKey = keyof typeof DURATIONS;
export type Durations = Readonly<Partial<Record<string, number>>>;

type Shape = Pick<PlanOperation, 'kind' | 'change' | 'drain' | 'nodes'>;

/** How often its duration is that of one node. */
export const timesOf = ({ kind, nodes }: Shape): number => (kind === 'replace' ? Math.max(1, nodes.length) : 1);

const controlPlaneKey = (change: PlanOperation['change']): DurationKey => {
  if (change?.kubeadm === 'apply') return 'control-plane';
  if (change?.kubeadm === 'node') return 'control-plane.node';
  return change?.renewCertificates === true ? 'control-plane.certificates' : 'control-plane.kubelet';
};

export const durationKeyOf = ({ kind, change, drain }: Shape): DurationKey => {
  if (kind === 'control-plane') return controlPlaneKey(change);
  return kind === 'worker' && !drain ? 'worker.undrained' : kind;
};

export const predictedSecondsOf = (operation: Shape, durations: Durations): number => {
  const key = durationKeyOf(operation);
  const boot = operation.change?.reboot === true ? (durations['boot'] ?? DURATIONS.boot) : 0;
  return (durations[key] ?? DURATIONS[key]) * timesOf(operation) + boot;
};

/** Batches are sequential; within one, as many operations run concurrently as the pool allows. */
export const predictedTotal = (
  operations: readonly PlanOperation[],
  atOnce: (operation: PlanOperation) => number,
  soakSeconds: (operation: PlanOperation) => number,
): number => {
  const numbers = [...new Set(operations.map(({ batch }) => batch))];
  return numbers.reduce((sum, number) => {
    const batch = operations.filter((operation) => operation.batch === number);
    const [first] = batch;
    if (first === undefined) return sum;
    const longest = Math.max(...batch.map(({ predictedSeconds }) => predictedSeconds));
    return sum + Math.ceil(batch.length / atOnce(first)) * longest + soakSeconds(first);
  }, 0);
};
