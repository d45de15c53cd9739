import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';

/** Which clusters exist, without how they are. */
@Injectable()
export class ClusterIndex {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async exists(namespace: string, cluster: string): Promise<boolean> {
    const found = await this.database.query<unknown[]>('select 1 from clusters where key = $1', [
      clusterKey(namespace, cluster),
    ]);
    return found.length > 0;
  }

  async uidOf(namespace: string, cluster: string): Promise<string | undefined> {
    const found = await this.database.query<{ uid: string }[]>(
      `select doc->>'uid' as uid from clusters where key = $1`,
      [clusterKey(namespace, cluster)],
    );
    return found[0]?.uid;
  }

  async namesIn(namespace: string): Promise<string[]> {
    const found = await this.database.query<{ name: string }[]>(
      `select doc->>'name' as name from clusters where namespace = $1 order by key`,
      [namespace],
    );
    return found.map(({ name }) => name);
  }

  /** Clusters with a node set, or a machine, on the connection: `<namespace>/<cluster>`. Of those that were cleaned up, nothing is left there. */
  async usersOf(connection: string): Promise<string[]> {
    const found = await this.database.query<{ key: string }[]>(
      `select key from clusters
        where doc->>'cleanup' is distinct from 'done'
          and (doc->'spec'->'controlPlane'->>'connection' = $1
           or doc->'spec'->'workers' @> jsonb_build_array(jsonb_build_object('connection', $1::text)))
       union
       select distinct cluster_key from nodes where doc->>'connection' = $1
       order by 1`,
      [connection],
    );
    return found.map(({ key }) => key);
  }
}
