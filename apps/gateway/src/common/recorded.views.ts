import {
  clusterFilter,
  NONE,
  type ClusterView,
  type EtcdRequestView,
  type StoredEvent,
  type UpgradeView,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { clustersProjection } from '../clusters/clusters.projection.js';
import { clusterView } from '../clusters/clusters.view.js';
import {
  connectionsProjection,
  isRegistered,
  type RegisteredConnectionDoc,
} from '../connections/connections.projection.js';
import { etcdProjection } from '../etcd/etcd.projection.js';
import { holdsProjection } from '../holds/holds.projection.js';
import { nodesProjection } from '../nodes/nodes.projection.js';
import { operationsProjection } from '../operations/operations.projection.js';
import { upgradeNodesProjection } from '../upgrades/upgrade.nodes.projection.js';
import { upgradeKey, upgradesProjection } from '../upgrades/upgrades.projection.js';
import { upgradeRows, upgradeView } from '../upgrades/upgrades.view.js';
import { foldRows } from './rows.fold.js';

/**
 * What a recorded command is answered with while the tables are late: the same views, folded from the log itself. It reads
 * the whole history of a name, so it is for that case alone.
 */
@Injectable()
export class RecordedViews {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async cluster(namespace: string, cluster: string): Promise<ClusterView | undefined> {
    const history = await this.historyOf(namespace, cluster);
    const [row] = foldRows(clustersProjection, history);
    if (row === undefined) return undefined;
    return clusterView({
      cluster: row.doc,
      seq: row.seq,
      nodes: foldRows(nodesProjection, history).map(({ doc }) => doc),
      operations: foldRows(operationsProjection, history)[0]?.doc,
      holds: foldRows(holdsProjection, history)[0]?.doc,
    });
  }

  async upgrade(namespace: string, cluster: string, upgrade: string): Promise<UpgradeView | undefined> {
    const history = await this.historyOf(namespace, cluster);
    const key = upgradeKey(namespace, cluster, upgrade);
    const row = foldRows(upgradesProjection, history).find((one) => one.key === key);
    if (row === undefined) return undefined;
    return upgradeView(upgradeRows(row, foldRows(upgradeNodesProjection, history)), this.clock.now().getTime());
  }

  async etcdRequest(namespace: string, cluster: string, request: string): Promise<EtcdRequestView | undefined> {
    const [row] = foldRows(etcdProjection, await this.historyOf(namespace, cluster));
    const found = row?.doc.requests.find(({ id }) => id === request);
    return found && { ...found, kind: 'EtcdRequest' };
  }

  async connection(name: string): Promise<RegisteredConnectionDoc | undefined> {
    const rows = foldRows(connectionsProjection, await this.historyOf(NONE, NONE));
    return rows
      .filter(({ key }) => key === name)
      .map(({ doc }) => doc)
      .find(isRegistered);
  }

  private async historyOf(namespace: string, cluster: string): Promise<readonly StoredEvent[]> {
    return (await this.store.read(clusterFilter(namespace, cluster), 0)).map(({ event }) => event);
  }
}
