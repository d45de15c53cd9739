import { CLOCK, DATABASE, type Clock } from '@fairlead/service-kit';
import type { UpgradeSummary, UpgradeView } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';
import { History } from '../common/history.js';
import { upgradeNodesProjection, type NodeUpgradesDoc } from './upgrade.nodes.projection.js';
import type { UpgradeAddress } from './upgrades.commands.js';
import { upgradeKey, upgradesProjection, type UpgradeDoc } from './upgrades.projection.js';
import { upgradeRows, upgradeSummary, upgradeView } from './upgrades.view.js';

interface Row<Doc> {
  readonly seq: string;
  readonly doc: Doc;
}

@Injectable()
export class UpgradeQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(History) private readonly history: History,
  ) {}

  /** undefined: there is none of which anything was stated after the sequence. */
  async one({ namespace, cluster, upgrade }: UpgradeAddress, after: number): Promise<UpgradeView | undefined> {
    const [row] = await this.database.query<Row<UpgradeDoc>[]>(
      'select seq, doc from upgrades where key = $1 and seq > $2',
      [upgradeKey(namespace, cluster, upgrade), after],
    );
    if (row === undefined) return undefined;
    return upgradeView(upgradeRows(row, await this.nodesOf(namespace, cluster)), this.clock.now().getTime());
  }

  /** Those of the cluster's present or last incarnation, latest first. */
  async all(namespace: string, cluster: string, after: number): Promise<UpgradeSummary[]> {
    const rows = await this.database.query<Row<UpgradeDoc>[]>(
      `select seq, doc from upgrades where cluster_key = $1 and seq > $2 order by doc->>'requestedAt' desc, key`,
      [clusterKey(namespace, cluster), after],
    );
    const nodes = await this.nodesOf(namespace, cluster);
    const uid = rows[0]?.doc.uid;
    return rows
      .filter(({ doc }) => doc.uid === uid)
      .map((row) => upgradeSummary(upgradeRows(row, nodes), this.clock.now().getTime()));
  }

  /** From the log itself, while the rows are late. */
  async recorded({ namespace, cluster, upgrade }: UpgradeAddress): Promise<UpgradeView | undefined> {
    const rowsOf = await this.history.of(namespace, cluster);
    const key = upgradeKey(namespace, cluster, upgrade);
    const row = rowsOf(upgradesProjection).find((one) => one.key === key);
    if (row === undefined) return undefined;
    return upgradeView(upgradeRows(row, rowsOf(upgradeNodesProjection)), this.clock.now().getTime());
  }

  private nodesOf(namespace: string, cluster: string): Promise<Row<NodeUpgradesDoc>[]> {
    return this.database.query<Row<NodeUpgradesDoc>[]>('select seq, doc from upgrade_nodes where cluster_key = $1', [
      clusterKey(namespace, cluster),
    ]);
  }
}
