import type { DeclaredSpec, Refusal } from '@fairlead/contracts';
import type { Registered } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { NodeQueries } from '../nodes/nodes.queries.js';
import { virtualAddressFaults } from './virtual-addresses.rules.js';

/** Finds what is wrong with virtual addresses, beside the nodes that the cluster has. */
@Injectable()
export class VirtualAddressChecks {
  constructor(
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
  ) {}

  /** Read from projections: the allocation of machines does not know of virtual addresses either. */
  async faults(
    { namespace, cluster }: ClusterAddress,
    spec: DeclaredSpec,
    { connections }: Registered,
  ): Promise<readonly Refusal[]> {
    if (spec.virtualAddresses === undefined) return [];
    const [nodes, view] = await Promise.all([
      this.nodes.all(namespace, cluster),
      this.clusters.one(namespace, cluster),
    ]);
    const endpoint = view === undefined || view.endpoint === '' ? [] : [new URL(view.endpoint).hostname];
    const taken = new Map([
      ...endpoint.map((host) => [host.replace(/^\[|\]$/g, ''), 'the Kubernetes API'] as const),
      ...nodes.flatMap(({ name, machine }) => (machine === null ? [] : [[machine.privateIp, `node ${name}`] as const])),
    ]);
    return virtualAddressFaults(spec, { connections, taken });
  }
}
