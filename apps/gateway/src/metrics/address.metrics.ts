import { DATABASE, METRICS, type GaugeRequest, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { ClusterDoc } from '../clusters/clusters.projection.js';
import { addressStatuses, apiAddressStatus } from '../clusters/virtual-addresses.js';
import { SETTINGS, type Settings } from '../config.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import {
  addressCounts,
  addressReadings,
  apiAddressCounts,
  apiAddressReadings,
  apiUpstreamCounts,
  apiUpstreamReadings,
  transportReadings,
  upstreamCounts,
  upstreamReadings,
  type ClusterAddresses,
  type ClusterApiAddress,
} from './address.readings.js';

/** Most clusters with virtual addresses whose gauges are reported. */
const ADDRESSED_CLUSTERS_MAX = 1_000;

type AddressedCluster = Required<Pick<ClusterDoc, 'namespace' | 'name' | 'virtualAddresses'>>;

/** Virtual addresses as numbers, for Prometheus, as their holders report them. */
@Injectable()
export class AddressMetrics {
  private scraped: Promise<readonly ClusterAddresses[]> | undefined;
  private scrapedApi: Promise<readonly ClusterApiAddress[]> | undefined;

  constructor(
    @Inject(METRICS) metrics: ServiceMetrics,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'metricsNames'>,
  ) {
    for (const gauge of this.gauges()) metrics.addGauge(gauge);
  }

  private gauges(): readonly GaugeRequest[] {
    const counts = [
      {
        name: 'fairlead_virtual_addresses',
        help: 'Virtual addresses by whether a node holds them and some node answers behind each of their ports',
        labels: ['state'],
        read: async () => addressCounts(await this.addresses()),
      },
      {
        name: 'fairlead_api_addresses',
        help: 'Clusters whose control planes share an address of the API, by how many of them hold it',
        labels: ['holders'],
        read: async () => apiAddressCounts(await this.apiAddresses()),
      },
      {
        name: 'fairlead_api_upstreams',
        help: 'API servers behind addresses of the API that control planes share, by whether they pass the health check of the balancer',
        labels: ['state'],
        read: async () => apiUpstreamCounts(await this.apiAddresses()),
      },
      {
        name: 'fairlead_upstreams',
        help: 'Nodes behind virtual addresses, once for each port, by whether they answer their health checks',
        labels: ['state'],
        read: async () => upstreamCounts(await this.addresses()),
      },
    ];
    return this.settings.metricsNames ? [...counts, ...this.namedGauges()] : counts;
  }

  private namedGauges(): readonly GaugeRequest[] {
    const of = ['namespace', 'cluster', 'address'];
    return [
      {
        name: 'fairlead_api_address_up',
        help: '1 if one control plane holds the address of the API that they share, and some API server passes the health check of the balancer',
        labels: ['namespace', 'cluster'],
        read: async () => apiAddressReadings(await this.apiAddresses()),
      },
      {
        name: 'fairlead_api_upstream_up',
        help: '1 if the API server of the control plane passes the health check of the balancer; absent while no control plane holds the address',
        labels: ['namespace', 'cluster', 'upstream'],
        read: async () => apiUpstreamReadings(await this.apiAddresses()),
      },
      {
        name: 'fairlead_virtual_address_up',
        help: '1 if a node holds the virtual address and some node answers behind each of its ports, as the holder reports it',
        labels: of,
        read: async () => addressReadings(await this.addresses()),
      },
      {
        name: 'fairlead_virtual_address_transport_up',
        help: '1 if the port of the virtual address accepts connections and some node answers behind it',
        labels: [...of, 'transport'],
        read: async () => transportReadings(await this.addresses()),
      },
      {
        name: 'fairlead_upstream_up',
        help: '1 if the node behind the virtual address answers its health check; absent while no node holds the address',
        labels: [...of, 'transport', 'upstream'],
        read: async () => upstreamReadings(await this.addresses()),
      },
    ];
  }

  /** Of the clusters in which control planes share an address of the API; read once for all gauges of a scrape. */
  private apiAddresses(): Promise<readonly ClusterApiAddress[]> {
    this.scrapedApi ??= this.readApiAddresses().finally(() => {
      this.scrapedApi = undefined;
    });
    return this.scrapedApi;
  }

  private async readApiAddresses(): Promise<readonly ClusterApiAddress[]> {
    const rows = await this.database.query<{ key: string; doc: NodeDoc }[]>(
      `select cluster_key as key, doc from nodes
        where doc->>'role' = 'control-plane' and doc->'isRemoving' is distinct from 'true'::jsonb and cluster_key in (
          select distinct cluster_key from nodes where doc ? 'apiAddress' order by cluster_key limit ${ADDRESSED_CLUSTERS_MAX})
        order by cluster_key`,
    );
    const clusters = new Map<string, NodeDoc[]>();
    for (const { key, doc } of rows) clusters.set(key, [...(clusters.get(key) ?? []), doc]);
    return [...clusters.values()].map((nodes) => {
      const { namespace, cluster } = nodes[0]!;
      return { namespace, cluster, status: apiAddressStatus(nodes) };
    });
  }

  /** Read once for all gauges of a scrape. */
  private addresses(): Promise<readonly ClusterAddresses[]> {
    this.scraped ??= this.readAddresses().finally(() => {
      this.scraped = undefined;
    });
    return this.scraped;
  }

  private async readAddresses(): Promise<readonly ClusterAddresses[]> {
    const clusters = await this.database.query<{ key: string; doc: AddressedCluster }[]>(
      `select key, jsonb_build_object('namespace', doc->'namespace', 'name', doc->'name', 'virtualAddresses', doc->'virtualAddresses') as doc
         from clusters where doc ? 'virtualAddresses' order by key limit ${ADDRESSED_CLUSTERS_MAX}`,
    );
    if (clusters.length === 0) return [];
    const nodes = await this.database.query<{ key: string; doc: NodeDoc }[]>(
      'select cluster_key as key, doc from nodes where cluster_key = any($1)',
      [clusters.map(({ key }) => key)],
    );
    return clusters.map(({ key, doc: { namespace, name, virtualAddresses } }) => {
      const own = nodes.filter((node) => node.key === key).map(({ doc }) => doc);
      return { namespace, cluster: name, statuses: addressStatuses(virtualAddresses, own) };
    });
  }
}
