import type { EtcdRequestPath, EtcdRequestView, EtcdSnapshotView } from '@fairlead/contracts';
import { CLOCK, DATABASE, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Identity } from '../access/identity.js';
import { clusterKey } from '../common/cluster.address.js';
import { History } from '../common/history.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { etcdProjection, snapshotViews, type EtcdDoc } from './etcd.projection.js';

const requestIn = (doc: EtcdDoc | undefined, request: string): EtcdRequestView | undefined => {
  const found = doc?.requests.find(({ id }) => id === request);
  return found && { ...found, kind: 'EtcdRequest' };
};

@Injectable()
export class EtcdQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(History) private readonly history: History,
  ) {}

  /** Those of this incarnation of the cluster, latest first. */
  async snapshots(namespace: string, cluster: string, uid: string): Promise<EtcdSnapshotView[]> {
    const doc = await this.docOf(namespace, cluster);
    return doc?.uid === uid ? snapshotViews(doc, this.clock.now().getTime()) : [];
  }

  /** A request that is the caller's to see. */
  async visibleRequest(path: EtcdRequestPath, identity: Identity): Promise<EtcdRequestView | undefined> {
    return this.request(path, await this.incarnations.visibleAfter(path.namespace, identity));
  }

  /** undefined: there is none, or nothing was stated after the sequence. */
  async request({ namespace, cluster, request }: EtcdRequestPath, after = 0): Promise<EtcdRequestView | undefined> {
    return requestIn(await this.docOf(namespace, cluster, after), request);
  }

  /** From the log itself, while the rows are late. */
  async recorded({ namespace, cluster, request }: EtcdRequestPath): Promise<EtcdRequestView | undefined> {
    const rowsOf = await this.history.of(namespace, cluster);
    return requestIn(rowsOf(etcdProjection)[0]?.doc, request);
  }

  private async docOf(namespace: string, cluster: string, after = 0): Promise<EtcdDoc | undefined> {
    const [row] = await this.database.query<{ doc: EtcdDoc }[]>('select doc from etcd where key = $1 and seq > $2', [
      clusterKey(namespace, cluster),
      after,
    ]);
    return row?.doc;
  }
}
