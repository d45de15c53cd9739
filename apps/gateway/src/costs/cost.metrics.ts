import type { PriceList } from '@fairlead/contracts';
import type { MachineHours } from '@fairlead/domain';
import { DATABASE, METRICS, type GaugeRequest, type Reading, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../config.js';
import { costOf, type CostView } from './costs.view.js';
import { PRICES } from './price.list.js';

const EPOCH = new Date(0).toISOString();

/** Clusters that are named at most. */
const NAMED_MAX = 1_000;

interface Cost {
  readonly key: string;
  readonly cost: CostView;
}

/** What machines cost by the price list, for Prometheus. */
@Injectable()
export class CostMetrics {
  constructor(
    @Inject(METRICS) metrics: Pick<ServiceMetrics, 'addGauge'>,
    @Inject(DATABASE) private readonly database: Pick<DataSource, 'query'>,
    @Inject(SETTINGS) settings: Pick<Settings, 'metricsNames'>,
    @Inject(PRICES) private readonly prices: PriceList | undefined,
  ) {
    if (prices === undefined) return;
    for (const gauge of this.gauges(prices, settings.metricsNames)) metrics.addGauge(gauge);
  }

  private gauges({ currency }: PriceList, areNamed: boolean): readonly GaugeRequest[] {
    const sums: readonly GaugeRequest[] = [
      {
        name: 'fairlead_machines_cost_per_hour',
        help: 'What the machines of all clusters cost in an hour by the price list',
        labels: ['currency'],
        read: async () => [{ labels: { currency }, value: sumOf(await this.costs(), ({ perHour }) => perHour) }],
      },
      {
        name: 'fairlead_machines_without_price',
        help: 'Machines that run and are not in the price list',
        labels: [],
        read: async () => [{ labels: {}, value: sumOf(await this.costs(), machinesWithoutPrice) }],
      },
    ];
    return areNamed ? [...sums, this.named(currency)] : sums;
  }

  private named(currency: string): GaugeRequest {
    return {
      name: 'fairlead_cluster_cost_per_hour',
      help: 'What the machines of a cluster cost in an hour by the price list',
      labels: ['namespace', 'cluster', 'currency'],
      read: async () => (await this.costs()).slice(0, NAMED_MAX).map((cost) => namedReading(cost, currency)),
    };
  }

  private async costs(): Promise<readonly Cost[]> {
    const { prices } = this;
    if (prices === undefined) return [];
    const rows = await this.database.query<{ key: string; doc: MachineHours }[]>(
      'select key, doc from machine_hours order by key',
    );
    // What an hour costs does not depend on the moment.
    return rows.map(({ key, doc }) => ({ key, cost: costOf(doc, prices, EPOCH) }));
  }
}

const sumOf = (costs: readonly Cost[], of: (cost: CostView) => number): number =>
  costs.reduce((sum, { cost }) => sum + of(cost), 0);

const machinesWithoutPrice = ({ unpriced }: CostView): number =>
  unpriced.reduce((sum, { machines }) => sum + machines, 0);

const namedReading = ({ key, cost }: Cost, currency: string): Reading => {
  const [namespace = '', cluster = ''] = key.split('/');
  return { labels: { namespace, cluster, currency }, value: cost.perHour };
};
