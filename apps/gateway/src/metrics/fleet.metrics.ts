import {
  AZIMUTH_PHASES,
  CLUSTER_PHASES,
  CLUSTER_STATES,
  CONDITION_REASONS,
  timeMsOf,
  UPGRADE_PHASES,
  type ClusterView,
} from '@fairlead/contracts';
import {
  CLOCK,
  DATABASE,
  METRICS,
  type Clock,
  type GaugeRequest,
  type Reading,
  type ServiceMetrics,
} from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ClusterQueries } from '../clusters/clusters.queries.js';
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
const DRIFT_DRAINS: readonly string[] = ['needed', 'not-needed'];
const CONNECTION_STATES: readonly string[] = ['verified', 'failed', 'unknown'];
const STUCK_DURING: readonly string[] = ['creation', 'change', 'deletion'];
const BACKUP_RESULTS: readonly string[] = ['good', 'failed', 'unverified', 'none'];
/** States follow from all rows of all clusters: they are read this often at most, however many scrape. */
const STATES_EVERY_MS = 60_000;

type Counts = ReadonlyMap<string, number>;

/** What is counted in the views of all clusters. */
interface States {
  readonly states: Counts;
  readonly reasons: Counts;
  readonly versions: Counts;
  readonly azimuthPhases: Counts;
  /** By what their step that is stuck is part of. */
  readonly stuck: Counts;
  /** Since when the cluster is not Ready that has been so for longest, in Unix time; undefined: all are Ready. */
  readonly notReadySinceMs: number | undefined;
}

interface LatestStates {
  readonly atMs: number;
  readonly read: Promise<States>;
}

/** A value that nothing has is reported as 0, so that an alert can count on it. */
const readingsOf = (label: string, values: readonly string[], counts: Counts): readonly Reading[] =>
  values.map((value) => ({ labels: { [label]: value }, value: counts.get(value) ?? 0 }));

/** undefined: none of its steps is stuck. */
const stuckDuring = ({ status: { phase }, conditions }: Pick<ClusterView, 'status' | 'conditions'>) => {
  if (!conditions.some(({ type, status }) => type === 'Stalled' && status === 'True')) return undefined;
  if (phase === 'Deleting') return 'deletion';
  return phase === 'Provisioned' ? 'change' : 'creation';
};

/** The fleet as numbers, for Prometheus: what exists, in which state. Every replica of the gateway reports the same. */
@Injectable()
export class FleetMetrics {
  private latest: LatestStates | undefined;

  constructor(
    @Inject(METRICS) metrics: ServiceMetrics,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    for (const gauge of [...this.gauges(), ...this.stateGauges(), ...this.etcdGauges()]) metrics.addGauge(gauge);
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
        name: 'fairlead_connections',
        help: 'Connections to providers by whether they could be verified when that was last tried',
        labels: ['state'],
        read: () => this.connections(),
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
        name: 'fairlead_nodes_drifted',
        help: 'Nodes that differ from what is desired of them, by whether the repair needs a drain',
        labels: ['drain'],
        read: () => this.drifted(),
      },
      {
        name: 'fairlead_certificate_first_end_timestamp_seconds',
        help: 'When the first certificate of any control plane ends, in Unix time; absent while none is known',
        labels: [],
        read: () => this.firstEnd(),
      },
    ];
  }

  /** What follows from the views of all clusters. */
  private stateGauges(): readonly GaugeRequest[] {
    const counted = [
      {
        name: 'fairlead_clusters_by_state',
        help: 'Clusters by state of life',
        label: 'state',
        values: CLUSTER_STATES,
        of: ({ states }: States) => states,
      },
      {
        name: 'fairlead_clusters_by_azimuth_phase',
        help: "Clusters by azimuth's phase",
        label: 'phase',
        values: AZIMUTH_PHASES,
        of: ({ azimuthPhases }: States) => azimuthPhases,
      },
      {
        name: 'fairlead_clusters_stuck',
        help: 'Clusters with a step that takes longer than its limit, by what it is part of',
        label: 'during',
        values: STUCK_DURING,
        of: ({ stuck }: States) => stuck,
      },
      {
        name: 'fairlead_clusters_by_reason',
        help: 'Clusters whose state follows from a condition with this reason',
        label: 'reason',
        values: CONDITION_REASONS,
        of: ({ reasons }: States) => reasons,
      },
    ];
    return [
      ...counted.map(({ name, help, label, values, of }) => ({
        name,
        help: `${help}, at most a minute old`,
        labels: [label],
        read: async () => readingsOf(label, values, of(await this.latestStates())),
      })),
      {
        name: 'fairlead_clusters_by_version',
        help: 'Clusters by the Kubernetes version of their oldest control plane, at most a minute old',
        labels: ['version'],
        read: async () =>
          [...(await this.latestStates()).versions].map(([version, value]) => ({ labels: { version }, value })),
      },
      {
        name: 'fairlead_clusters_not_ready_oldest_timestamp_seconds',
        help: 'Of the clusters that are not Ready, the earliest time since when, in Unix time, at most a minute old; absent while all are',
        labels: [],
        read: () => this.notReady(),
      },
    ];
  }

  private etcdGauges(): readonly GaugeRequest[] {
    return [
      {
        name: 'fairlead_etcd_backups',
        help: 'Clusters with snapshots of etcd by schedule: whether the last one is good',
        labels: ['result'],
        read: () => this.backups(),
      },
      {
        name: 'fairlead_etcd_backup_oldest_timestamp_seconds',
        help: 'Of the clusters with a schedule, the earliest time of a last good snapshot of etcd, in Unix time; absent while there is none',
        labels: [],
        read: () => this.oldestBackup(),
      },
      {
        name: 'fairlead_etcd_snapshots',
        help: 'Snapshots of etcd that are kept',
        labels: [],
        read: async () => [{ labels: {}, value: (await this.snapshots()).count }],
      },
      {
        name: 'fairlead_etcd_snapshot_bytes',
        help: 'Size of the snapshots of etcd that are kept',
        labels: [],
        read: async () => [{ labels: {}, value: (await this.snapshots()).bytes }],
      },
    ];
  }

  private async byPhase(table: 'clusters' | 'upgrades', phases: readonly string[]): Promise<readonly Reading[]> {
    const rows = await this.database.query<PhaseCount[]>(
      `select doc->>'phase' as phase, count(*) as n from ${table} group by 1`,
    );
    const counts = new Map(rows.map(({ phase, n }) => [phase, Number(n)]));
    return readingsOf('phase', phases, counts);
  }

  private async connections(): Promise<readonly Reading[]> {
    const rows = await this.database.query<{ state: string; n: string }[]>(
      `select case when coalesce(doc->>'problem', '') <> '' then 'failed'
                   when doc->>'verifiedAt' is not null then 'verified' else 'unknown' end as state, count(*) as n
         from connections where doc->>'registration' is not null group by 1`,
    );
    return readingsOf('state', CONNECTION_STATES, new Map(rows.map(({ state, n }) => [state, Number(n)])));
  }

  private latestStates(): Promise<States> {
    const atMs = this.clock.now().getTime();
    if (this.latest === undefined || atMs - this.latest.atMs >= STATES_EVERY_MS) {
      const read = this.readStates();
      read.catch(() => {
        this.latest = undefined;
      });
      this.latest = { atMs, read };
    }
    return this.latest.read;
  }

  private async readStates(): Promise<States> {
    const counts = () => new Map<string, number>();
    const [states, reasons, versions, azimuthPhases, stuck] = [counts(), counts(), counts(), counts(), counts()];
    let notReadySinceMs: number | undefined;
    const count = (of: Map<string, number>, value: string): unknown => of.set(value, (of.get(value) ?? 0) + 1);
    for await (const view of this.clusters.everywhere()) {
      const { status, k8sVersion, conditions } = view;
      count(states, status.state);
      count(azimuthPhases, status.azimuthPhase);
      count(versions, k8sVersion);
      for (const reason of status.reasons) count(reasons, reason);
      const during = stuckDuring(view);
      if (during !== undefined) count(stuck, during);
      const ready = conditions.find(({ type }) => type === 'Ready');
      if (ready === undefined || ready.status === 'True') continue;
      notReadySinceMs = Math.min(notReadySinceMs ?? Infinity, Date.parse(ready.lastTransitionTime));
    }
    return { states, reasons, versions, azimuthPhases, stuck, notReadySinceMs };
  }

  private async notReady(): Promise<readonly Reading[]> {
    const { notReadySinceMs } = await this.latestStates();
    return notReadySinceMs === undefined ? [] : [{ labels: {}, value: notReadySinceMs / MS }];
  }

  private async nodes(): Promise<readonly Reading[]> {
    const rows = await this.database.query<NodeCount[]>(
      `select coalesce(doc->'isRemoving' = 'true', false) as "isRemoving", coalesce(doc->'isLost' = 'true', false) or doc ? 'away' as "isLost",
              coalesce(doc->'isReady' = 'true', false) as "isReady",
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

  private async drifted(): Promise<readonly Reading[]> {
    const rows = await this.database.query<{ drain: string; n: string }[]>(
      `select case when doc->'drift'->'differences' @> '[{"needsDrain": true}]' then 'needed' else 'not-needed' end as drain,
              count(*) as n
         from nodes where doc ? 'drift' and doc->'isRemoving' = 'false' group by 1`,
    );
    return readingsOf('drain', DRIFT_DRAINS, new Map(rows.map(({ drain, n }) => [drain, Number(n)])));
  }

  private async backups(): Promise<readonly Reading[]> {
    const rows = await this.database.query<{ result: string; n: string }[]>(
      `select case when doc->'backups'->'failed'->>'what' = 'snapshot' then 'failed'
                   when doc->'backups'->'failed'->>'what' = 'verification' then 'unverified'
                   when doc->'backups' ? 'lastGoodAt' then 'good' else 'none' end as result, count(*) as n
         from clusters where doc ? 'backups' group by 1`,
    );
    return readingsOf('result', BACKUP_RESULTS, new Map(rows.map(({ result, n }) => [result, Number(n)])));
  }

  private async oldestBackup(): Promise<readonly Reading[]> {
    return this.earliest(`select doc->'backups'->>'lastGoodAt' as time from clusters`);
  }

  private async snapshots(): Promise<{ readonly count: number; readonly bytes: number }> {
    const [row] = await this.database.query<{ count: string; bytes: string }[]>(
      `select count(*) as count, coalesce(sum(case jsonb_typeof(snapshot->'bytes') when 'number' then (snapshot->'bytes')::numeric end), 0) as bytes
         from etcd join clusters on clusters.key = etcd.key and clusters.doc->>'uid' = etcd.doc->>'uid',
              jsonb_array_elements(etcd.doc->'snapshots') as snapshot`,
    );
    return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) };
  }

  private async firstEnd(): Promise<readonly Reading[]> {
    return this.earliest(
      `select certificate->>'expiresAt' as time
         from certificates, jsonb_array_elements(doc->'certificates') as certificate`,
    );
  }

  /**
   * The first of the times that a query has as text, none of which is outside of 1970 to 2200. Times in UTC are in order as text; PostgreSQL
   * refuses the whole query because of one that it cannot make a time of.
   */
  private async earliest(times: string): Promise<readonly Reading[]> {
    const [row] = await this.database.query<{ first: string | null }[]>(
      `select min(time collate "C") as first from (${times}) as times where time collate "C" between '1970' and '2201'`,
    );
    const firstMs = timeMsOf(row?.first);
    return firstMs === undefined ? [] : [{ labels: {}, value: firstMs / MS }];
  }
}
