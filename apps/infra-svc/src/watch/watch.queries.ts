import type { ClusterUid, ConnectionName } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { MachineRow } from '../machines/machines.projection.js';
import { recordedOf } from './recorded.rules.js';
import type { RecordedMachine } from './comparison.planner.js';

interface Joined {
  readonly doc: MachineRow;
  readonly uid: ClusterUid;
}

/** The rows of a connection's machines. One query each, whatever the number of machines. */
@Injectable()
export class WatchQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** Registered connections, and removed ones that still have machines. */
  async connections(): Promise<readonly ConnectionName[]> {
    const rows = await this.database.query<{ readonly key: ConnectionName }[]>(
      `select key from connections
        where doc->>'removed' = 'false' or exists (select 1 from machines where connection = connections.key)
        order by key`,
    );
    return rows.map(({ key }) => key);
  }

  async recorded(connection: ConnectionName): Promise<readonly RecordedMachine[]> {
    const rows = await this.database.query<Joined[]>(
      `select machines.doc, clusters.doc->>'uid' as uid
         from machines join clusters on clusters.key = (machines.doc->>'namespace') || '/' || machines.cluster
        where machines.connection = $1`,
      [connection],
    );
    return rows.map(({ doc, uid }) => recordedOf(doc, uid));
  }

  /** IDs of the recorded orphans. */
  async orphans(connection: ConnectionName): Promise<readonly string[]> {
    const rows = await this.database.query<{ readonly id: string }[]>(
      `select orphan->>'id' as id from resources, jsonb_array_elements(doc->'orphans') as orphan where key = $1`,
      [connection],
    );
    return rows.map(({ id }) => id);
  }

  async counts(): Promise<{ readonly lost: number; readonly stopped: number; readonly orphans: number }> {
    const [row] = await this.database.query<{ lost: string; stopped: string; orphans: string }[]>(
      `select (select count(*) from machines where doc->>'lost' = 'true') as lost,
              (select count(*) from machines where doc->>'stopped' = 'true') as stopped,
              (select count(*) from resources, jsonb_array_elements(doc->'orphans')) as orphans`,
    );
    return { lost: Number(row?.lost), stopped: Number(row?.stopped), orphans: Number(row?.orphans) };
  }
}
