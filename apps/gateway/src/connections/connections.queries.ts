import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { isRegistered, type ConnectionDoc, type RegisteredConnectionDoc } from './connections.projection.js';

@Injectable()
export class ConnectionQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async all(): Promise<RegisteredConnectionDoc[]> {
    const rows = await this.database.query<{ doc: ConnectionDoc }[]>('select doc from connections order by key');
    return rows.map(({ doc }) => doc).filter(isRegistered);
  }

  async one(name: string): Promise<RegisteredConnectionDoc | undefined> {
    const rows = await this.database.query<{ doc: ConnectionDoc }[]>('select doc from connections where key = $1', [
      name,
    ]);
    return rows.map(({ doc }) => doc).find(isRegistered);
  }
}
