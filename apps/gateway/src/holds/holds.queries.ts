import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';
import type { HoldsDoc } from './holds.projection.js';

@Injectable()
export class HoldQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async of(namespace: string, cluster: string): Promise<HoldsDoc | undefined> {
    const [row] = await this.database.query<{ doc: HoldsDoc }[]>('select doc from holds where key = $1', [
      clusterKey(namespace, cluster),
    ]);
    return row?.doc;
  }
}
