import type { PriceList } from '@fairlead/contracts';
import type { MachineHours } from '@fairlead/domain';
import { CLOCK, DATABASE, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { certificatesProjection } from '../certificates/certificates.projection.js';
import { SETTINGS, type Settings } from '../config.js';
import type { RowsOf } from '../common/history.js';
import { machineHoursProjection } from '../costs/machine-hours.projection.js';
import { PRICES } from '../costs/price.list.js';
import { etcdProjection } from '../etcd/etcd.projection.js';
import { manifestsProjection } from '../lifecycle/manifests.projection.js';
import { upgradesProjection } from '../upgrades/upgrades.projection.js';
import { NOTHING_AROUND, type AroundCluster, type ConditionRows, type UpgradeGlimpse } from './clusters.facts.js';

interface QuarantinedRow {
  readonly key: string;
  readonly service: string;
  readonly error: string;
  readonly since: string;
}

export type Moment = Pick<ConditionRows, 'now' | 'stalledAfterMs' | 'prices'>;

const RUNNING = `jsonb_path_query_array(doc->'requests', '$[*] ? (@.phase == "Running")')`;

const namespaceOf = (key: string): string => key.split('/')[0] ?? '';

/** What other nouns say of clusters. One query each, however many clusters are listed. */
@Injectable()
export class AroundClusters {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'stalledAfterMs'>,
    @Inject(PRICES) private readonly prices: PriceList | undefined,
  ) {}

  get moment(): Moment {
    const { stalledAfterMs } = this.settings;
    return { now: this.clock.now().toISOString(), stalledAfterMs, prices: this.prices };
  }

  async of(keys: readonly string[]): Promise<ReadonlyMap<string, AroundCluster>> {
    const [upgrades, etcd, certificates, quarantined, unverified, busy, secrets, unmet, hours] = await Promise.all([
      this.upgrades(keys),
      this.byKey<NonNullable<AroundCluster['etcd']>>(
        `select key, jsonb_build_object('uid', doc->>'uid', 'requests', ${RUNNING}) as doc from etcd where key = any($1)`,
        keys,
      ),
      this.byKey<AroundCluster['certificates'][number]>(
        'select cluster_key as key, doc from certificates where cluster_key = any($1) order by certificates.key',
        keys,
      ),
      this.quarantined(keys),
      this.unverified(),
      this.busy(),
      this.hookSecrets(keys),
      this.byKey<NonNullable<AroundCluster['unmet']>>(
        `select key, doc from manifests where key = any($1) and doc ?| '{unmet,denied,stopped}'`,
        keys,
      ),
      this.machineHours(keys),
    ]);
    const around = keys.map((key): [string, AroundCluster] => [
      key,
      {
        upgrade: upgrades.find((row) => row.key === key)?.doc,
        etcd: etcd.find((row) => row.key === key)?.doc,
        certificates: certificates.filter((row) => row.key === key).map(({ doc }) => doc),
        quarantined: quarantined.filter((row) => row.key === key),
        unverified,
        busy,
        hookSecrets: secrets.get(namespaceOf(key)) ?? [],
        unmet: unmet.find((row) => row.key === key)?.doc,
        machineHours: hours.find((row) => row.key === key)?.doc,
      },
    ]);
    return new Map(around);
  }

  private byKey<Doc>(text: string, keys: readonly string[]): Promise<{ key: string; doc: Doc }[]> {
    return this.database.query(text, [keys]);
  }

  private async machineHours(keys: readonly string[]): Promise<readonly { key: string; doc: MachineHours }[]> {
    if (this.prices === undefined) return [];
    return this.byKey('select key, doc from machine_hours where key = any($1)', keys);
  }

  /** The latest that may change something; its plan stays in the database. */
  private upgrades(keys: readonly string[]): Promise<{ key: string; doc: UpgradeGlimpse }[]> {
    return this.byKey(
      `select distinct on (cluster_key) cluster_key as key,
              jsonb_build_object('uid', doc->>'uid', 'id', doc->>'id', 'phase', doc->>'phase', 'message', doc->>'message',
                                 'requestedAt', doc->>'requestedAt') as doc
         from upgrades where cluster_key = any($1) and doc->>'mode' <> 'dry-run'
        order by cluster_key, doc->>'requestedAt' desc`,
      keys,
    );
  }

  private async quarantined(keys: readonly string[]): Promise<readonly QuarantinedRow[]> {
    return this.database.query<QuarantinedRow[]>(
      `select (doc->>'namespace') || '/' || (doc->>'cluster') as key, doc->>'service' as service, doc->>'error' as error,
              doc->>'quarantinedAt' as since
         from quarantined_clusters where (doc->>'namespace') || '/' || (doc->>'cluster') = any($1)
        order by doc->>'quarantinedAt'`,
      [keys],
    );
  }

  private async hookSecrets(keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.byKey<Readonly<Record<string, string>> | null>(
      `select key, doc->'hookSecrets' as doc from namespaces where key = any($1)`,
      [...new Set(keys.map(namespaceOf))],
    );
    return new Map(rows.map(({ key, doc }) => [key, Object.keys(doc ?? {})]));
  }

  private async busy(): Promise<AroundCluster['busy']> {
    type Busy = AroundCluster['busy'][number];
    const rows = await this.database.query<{ name: string; busy: Omit<Busy, 'name'> }[]>(
      `select doc->>'name' as name, doc->'busy' as busy from connections where doc->'busy'->>'until' > $1 order by key`,
      [this.moment.now],
    );
    return rows.map(({ name, busy }): Busy => ({ name, ...busy }));
  }

  private async unverified(): Promise<AroundCluster['unverified']> {
    return this.database.query(
      `select doc->>'name' as name, doc->>'problem' as problem, coalesce(doc->>'verifiedAt', doc->'registration'->>'registeredAt') as since
         from connections where doc->>'problem' <> '' and doc->>'registration' is not null order by key`,
    );
  }
}

/** The same of one cluster from the log, while the rows are late. Connections and quarantines are not in the log of a cluster alone. */
export const aroundInLog = (rowsOf: RowsOf): AroundCluster => ({
  ...NOTHING_AROUND,
  upgrade: rowsOf(upgradesProjection)
    .map(({ doc }) => doc)
    .filter(({ mode }) => mode !== 'dry-run')
    .toSorted((one, other) => (one.requestedAt < other.requestedAt ? 1 : -1))[0],
  etcd: rowsOf(etcdProjection)[0]?.doc,
  certificates: rowsOf(certificatesProjection).map(({ doc }) => doc),
  unmet: rowsOf(manifestsProjection)
    .map(({ doc }) => doc)
    .find(isUnmet),
  machineHours: rowsOf(machineHoursProjection)[0]?.doc,
});

const isUnmet = ({ unmet, denied, stopped }: NonNullable<AroundCluster['unmet']>): boolean =>
  (unmet ?? denied ?? stopped) !== undefined;
