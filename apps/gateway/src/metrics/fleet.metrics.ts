import { CLUSTER_PHASES, UPGRADE_PHASES } from '@fairlead/contracts';
import { DATABASE, METRICS, type GaugeRequest, type Reading, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { nodePhase, type NodeCondition } from '../nodes/nodes.view.js';

interface PhaseCount {
  readonly phase: string;
  readonly n: string;
}

type NodeCount = NodeCondition & {
  readonly version: string | null;
  readonly n: string;
};

const MS = 1_000;

/** The fleet as numbers, for Prometheus: what stands, in which state. Every replica of the gateway tells the same. */
@Injectable()
export class FleetMetrics {
  constructor(
    @Inject(METRICS) metrics: ServiceMetrics,
    @Inject(DATABASE) private readonly database: DataSource,
  ) {
    for (const gauge of this.gauges()) metrics.addGauge(gauge);
  }

  private gauges(): readonly GaugeRequest[] {
    return [
      {
        name: 'fairlead_clusters',
        help: 'Clusters by phase',
        labels: ['phase'],
        read: () => this.byPhase('clusters', CLUSTER_PHASES),
      },
      {
        name: 'fairlead_upgrades',
        help: 'Upgrades by phase, those that are over included',
        labels: ['phase'],
        read: () => this.byPhase('upgrades', UPGRADE_PHASES),
      },
      {
        name: 'fairlead_nodes',
        help: 'Nodes by phase and version of their kubelet',
        labels: ['phase', 'kubelet'],
        read: () => this.nodes(),
      },
      {
        name: 'fairlead_certificate_first_end_timestamp_seconds',
        help: 'When the first certificate of any control plane ends, in Unix time; absent while none is known',
        labels: [],
        read: () => this.firstEnd(),
      },
    ];
  }

  /** A phase that nothing is in is told as 0, so that an alert can count on it. */
  private async byPhase(table: 'clusters' | 'upgrades', phases: readonly string[]): Promise<readonly Reading[]> {
    const rows = await this.database.query<PhaseCount[]>(
      `select doc->>'phase' as phase, count(*) as n from ${table} group by 1`,
    );
    const counts = new Map(rows.map(({ phase, n }) => [phase, Number(n)]));
    return phases.map((phase) => ({ labels: { phase }, value: counts.get(phase) ?? 0 }));
  }

  private async nodes(): Promise<readonly Reading[]> {
    const rows = await this.database.query<NodeCount[]>(
      `select (doc->>'isRemoving')::bool as "isRemoving", (doc->>'isLost')::bool or doc ? 'away' as "isLost", (doc->>'isReady')::bool as "isReady",
              doc->'milestones' ? 'ready' as "wasReady", doc->'milestones' ? 'bootstrapped' as bootstrapped,
              doc->>'machine' is not null as "hasMachine", doc->'software'->>'kubelet' as version, count(*) as n
         from nodes group by 1, 2, 3, 4, 5, 6, 7`,
    );
    const counts = new Map<string, Reading>();
    for (const row of rows) {
      const labels = { phase: nodePhase(row), kubelet: row.version ?? '' };
      const key = `${labels.phase} ${labels.kubelet}`;
      counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + Number(row.n) });
    }
    return [...counts.values()];
  }

  private async firstEnd(): Promise<readonly Reading[]> {
    const [row] = await this.database.query<{ first: Date | null }[]>(
      `select min((certificate->>'expiresAt')::timestamptz) as first
         from certificates, jsonb_array_elements(doc->'certificates') as certificate`,
    );
    return row?.first === undefined || row.first === null ? [] : [{ labels: {}, value: row.first.getTime() / MS }];
  }
}
