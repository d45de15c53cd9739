import type { DeclaredSpec, Fact, Machine, NodeName, PoolName } from '@fairlead/contracts';
import { declaredOf } from '@fairlead/contracts';
import { clusterRequested, machineOf, uid } from '../nodes/nodes.fixtures.js';

/** Values for specs. */
export const CP = 'demo-cp-1-aaaaa' as NodeName;
export const W1 = 'demo-w-1-aaaaa' as NodeName;
export const W2 = 'demo-w-2-aaaaa' as NodeName;

const ADDRESSES: Readonly<Record<string, string>> = { [CP]: '192.0.2.11', [W1]: '192.0.2.21', [W2]: '192.0.2.22' };

export const machineAtAddress = (name: NodeName, address = ADDRESSES[name] ?? ''): Machine => ({
  ...machineOf(name),
  role: name === CP ? 'control-plane' : 'worker',
  pool: (name === CP ? 'control-plane' : 'w') as PoolName,
  publicIp: address,
  privateIp: address,
});

export const created = (...names: NodeName[]): Fact<'VmsCreated'> => ({
  type: 'VmsCreated',
  data: { uid, machines: names.map((name) => machineAtAddress(name)) },
});

export const agentStarted = (node: NodeName): Fact<'AgentStarted'> => ({
  type: 'AgentStarted',
  data: { uid, node, agentVersion: '1', sha256: 'ab' },
});

export const declared = (
  network: Pick<DeclaredSpec, 'firewall' | 'sshd' | 'virtualAddresses'>,
): Fact<'ClusterSpecChanged'> => ({
  type: 'ClusterSpecChanged',
  data: { uid, revision: 1, spec: { ...declaredOf(clusterRequested().data.spec), ...network } },
});

export const balanced = (placement: 'provider' | 'control-planes', host = '192.0.2.5'): Fact<'LoadBalancerReady'> => ({
  type: 'LoadBalancerReady',
  data: { uid, kind: 'nlb', host, port: 6443, placement },
});
