import { nodeMetadata, POOL_LABEL, type DeclaredPool, type MachineSpec } from '@fairlead/contracts';
import { typesOf } from './externalgrpc.messages.js';

/** As much of `v1.Node` of Kubernetes as a node that does not exist has. */
const typeOf = typesOf({
  Node: { metadata: '1 ObjectMeta', spec: '2 NodeSpec', status: '3 NodeStatus' },
  ObjectMeta: { name: '1 string', labels: '11 %string' },
  NodeSpec: { taints: '5 *Taint' },
  Taint: { key: '1 string', value: '2 string', effect: '3 string' },
  NodeStatus: { capacity: '1 %Quantity', allocatable: '2 %Quantity', conditions: '4 *NodeCondition' },
  Quantity: { string: '1 string' },
  NodeCondition: { type: '1 string', status: '2 string' },
});

/** What the kubelet takes by default. */
const PODS_MAX = 110;
/** Below it, the kubelet evicts pods (its default of `memory.available`). */
const EVICTION_MIB = 100;
/** A machine of n GiB offers less: firmware and kernel take their share. An estimate on the safe side. */
const MEMORY_USABLE = 0.93;
const MIB_PER_GIB = 1_024;

/** Where machines of a pool come to be. */
export interface Place {
  readonly region: string;
  readonly size: MachineSpec;
}

type Quantities = Readonly<Record<string, { readonly string: string }>>;

const quantities = (cpuCount: number, memoryMiB: number): Quantities => ({
  cpu: { string: String(cpuCount) },
  memory: { string: `${Math.max(0, Math.floor(memoryMiB))}Mi` },
  pods: { string: String(PODS_MAX) },
});

const zoneLabels = ({ zones = [] }: DeclaredPool): Readonly<Record<string, string>> => {
  const [zone] = zones;
  return zone === undefined || zones.length > 1 ? {} : { 'topology.kubernetes.io/zone': zone };
};

/** A new node of the pool, as if it had just started: what Cluster Autoscaler tries pods on while the pool is empty. `v1.Node`, encoded. */
export const nodeTemplate = (pool: DeclaredPool, { region, size }: Place): Uint8Array => {
  const { labels, taints } = nodeMetadata(pool);
  const memoryMiB = size.memoryGiB * MIB_PER_GIB * MEMORY_USABLE;
  const name = `template-of-${pool.name}`;
  const node = {
    metadata: {
      name,
      labels: {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/os': 'linux',
        'kubernetes.io/hostname': name,
        [POOL_LABEL]: pool.name,
        ...(region === '' ? {} : { 'topology.kubernetes.io/region': region }),
        ...zoneLabels(pool),
        ...labels,
      },
    },
    spec: { taints: taints.map(({ key, value = '', effect }) => ({ key, value, effect })) },
    status: {
      capacity: quantities(size.cpuCount, memoryMiB),
      allocatable: quantities(size.cpuCount, memoryMiB - EVICTION_MIB),
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
  const type = typeOf('Node');
  return type.encode(type.fromObject(node)).finish();
};
