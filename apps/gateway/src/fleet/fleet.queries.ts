import type { FleetRow } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { mayIn, type Identity } from '../access/identity.js';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { fleetRow, READER } from './fleet.rules.js';

interface StampRow {
  readonly key: string;
  readonly namespace: string;
  /** Another one as soon as a row that its line follows from is. */
  readonly stamp: string;
}

interface KeptRow {
  readonly stamp: string;
  readonly atMs: number;
  readonly row: FleetRow;
}

/** Conditions follow from time, too. */
const KEPT_MS = 30_000;
const PAGE = 100;

/** Tables with rows of one cluster, and those that concern every cluster. */
const OWN = ['operations', 'holds', 'etcd'] as const;
const BY_CLUSTER = ['nodes', 'upgrades', 'certificates'] as const;
const SHARED = ['connections', 'quarantined_clusters', 'namespaces'] as const;

const STAMPS = `
  select c.key, c.namespace, concat_ws(' ', c.seq, shared.stamp,
    ${[...OWN.map((table) => `${table}.seq`), ...BY_CLUSTER.map((table) => `${table}.seq, ${table}.count`)].join(', ')}) as stamp
  from clusters c
  cross join (select concat_ws(' ', ${SHARED.map((table) => `(select concat(max(seq), '/', count(*)) from ${table})`).join(', ')}) as stamp) shared
  ${OWN.map((table) => `left join ${table} on ${table}.key = c.key`).join('\n  ')}
  ${BY_CLUSTER.map(
    (table) =>
      `left join (select cluster_key, max(seq) as seq, count(*) as count from ${table} group by cluster_key) ${table} on ${table}.cluster_key = c.key`,
  ).join('\n  ')}`;

/** The lines of the fleet. Each is kept until a row changes that it follows from, so that a list of 1,000 clusters reads few of them. */
@Injectable()
export class FleetQueries {
  private readonly kept = new Map<string, KeptRow>();
  private refreshing: Promise<readonly FleetRow[]> | undefined;

  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
  ) {}

  /** Those that the caller may see. Requests at the same moment share one look. */
  async rows(identity: Identity): Promise<readonly FleetRow[]> {
    this.refreshing ??= this.refresh().finally(() => (this.refreshing = undefined));
    return (await this.refreshing).filter(({ namespace }) => mayIn(identity, READER, namespace));
  }

  private async refresh(): Promise<readonly FleetRow[]> {
    const nowMs = Date.parse(this.clusters.moment.now);
    const stamps = await this.database.query<StampRow[]>(STAMPS);
    const known = new Set(stamps.map(({ key }) => key));
    for (const key of this.kept.keys()) if (!known.has(key)) this.kept.delete(key);
    const stale = stamps.filter(({ key, stamp }) => {
      const row = this.kept.get(key);
      return row === undefined || row.stamp !== stamp || nowMs - row.atMs > KEPT_MS;
    });
    for (let from = 0; from < stale.length; from += PAGE) await this.renew(stale.slice(from, from + PAGE), nowMs);
    return stamps.flatMap(({ key }) => this.kept.get(key)?.row ?? []);
  }

  private async renew(stale: readonly StampRow[], atMs: number): Promise<void> {
    const keys = stale.map(({ key }) => key);
    const [views, ends] = await Promise.all([
      this.clusters.named(keys),
      this.database.query<{ key: string; ends: string }[]>(
        `select cluster_key as key, min(certificate->>'expiresAt') as ends
           from certificates, jsonb_array_elements(doc->'certificates') certificate
          where cluster_key = any($1) group by cluster_key`,
        [keys],
      ),
    ]);
    const stampOf = new Map(stale.map(({ key, stamp }) => [key, stamp]));
    const endOf = new Map(ends.map((row) => [row.key, row.ends]));
    for (const view of views) {
      const key = `${view.namespace}/${view.name}`;
      this.kept.set(key, {
        stamp: stampOf.get(key) ?? '',
        atMs,
        row: fleetRow({ view, certificateEnd: endOf.get(key) }),
      });
    }
  }
}
