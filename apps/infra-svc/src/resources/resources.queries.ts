import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { ResourcesRow } from './resources.projection.js';

@Injectable()
export class ResourcesQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async of(connection: string): Promise<ResourcesRow | undefined> {
    const rows = await this.database.query<{ readonly doc: ResourcesRow }[]>(
      'select doc from resources where key = $1',
      [connection],
    );
    return rows[0]?.doc;
  }
}
