import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { NamespaceDoc } from './namespaces.projection.js';

@Injectable()
export class NamespaceQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async all(): Promise<NamespaceDoc[]> {
    const rows = await this.database.query<{ doc: NamespaceDoc }[]>('select doc from namespaces order by key');
    return rows.map(({ doc }) => doc);
  }

  async one(name: string): Promise<NamespaceDoc | undefined> {
    const rows = await this.database.query<{ doc: NamespaceDoc }[]>('select doc from namespaces where key = $1', [
      name,
    ]);
    return rows[0]?.doc;
  }
}
