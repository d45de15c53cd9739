import type { StoredEvent, Fact, ConnectionName, DeclaredPool, DeclaredSpec } from '@fairlead/contracts';

export const UID = '00000000-0000-4000-8000-000000000001';

const machines = {
  connection: 'lab' as ConnectionName,
  machineType: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
};

export const pool = (name: string, replicas: number, change: Partial<DeclaredPool> = {}): DeclaredPool => ({
  name,
  replicas,
  ...machines,
  ...change,
});

export const declared = (pools: readonly DeclaredPool[], change: Partial<DeclaredSpec> = {}): DeclaredSpec => ({
  version: 'v1.34.4' as DeclaredSpec['version'],
  serviceType: 'single',
  loadBalancer: 'haproxy',
  network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
  controlPlane: { replicas: 3, ...machines, etcd: 'local', schedulable: false },
  pools: [...pools],
  ...change,
});

/** When the event of a sequence was recorded: one each second. */
export const timeOf = (seq: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString();

/** A fact as if it were in the log. */
export const logged = (fact: Fact, seq: number): StoredEvent =>
  ({ ...fact, meta: { seq, namespace: 'default', cluster: 'demo', time: timeOf(seq) } }) as unknown as StoredEvent;
