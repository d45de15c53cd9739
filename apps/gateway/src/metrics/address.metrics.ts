import { DATABASE, METRICS, type GaugeRequest, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { ClusterDoc } from '../clusters/clusters.projection.js';
import { addressStatuses } from '../clusters/virtual-addresses.js';
import { SETTINGS, type Settings } from '../config.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import {
  addressCounts,
  addressReadings,
  apiAddressCounts,
  transportReadings,
  upstreamCounts,
  upstreamReadings,
  type ClusterAddresses,
} from './address.readings.js';

/** Most clusters with virtual addresses whose gauges are reported. */
const ADDRESSED_CLUSTERS_MAX = 1_000;

/** Its machine is there, and its agent reports: `isAway` in SQL. */
const IS_THERE = `not (doc->>'isLost')::boolean and not (doc ? 'away')`;

type AddressedCluster = Required<Pick<ClusterDoc, 'namespace' | 'name' | 'virtualAddresses'>>;

/** Virtual addresses as numbers, for Prometheus, as their holders report them. */
@Injectable()
export class AddressMetrics {
  private scraped: Promise<readonly ClusterAddresses[]> | undefined;

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
        read: async () => apiAddressCounts(await this.apiHolders()),
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

  /** How many control planes hold the API's address, of each cluster in which they share one. */
  private async apiHolders(): Promise<readonly number[]> {
    const rows = await this.database.query<{ held: string }[]>(
      `select count(*) filter (where (doc->'apiAddress'->>'held')::boolean and ${IS_THERE}) as held
         from nodes where doc ? 'apiAddress' and not (doc->>'isRemoving')::boolean group by cluster_key`,
    );
    return rows.map(({ held }) => Number(held));
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
