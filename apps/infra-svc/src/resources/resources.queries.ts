import type { Ask } from '@fairlead/event-sourcing/jetstream';
import { ASK } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { ResourcesRow } from './resources.projection.js';

@Injectable()
export class ResourcesQueries {
  constructor(@Inject(ASK) private readonly ask: Ask) {}

  async of(connection: string): Promise<ResourcesRow | undefined> {
    const rows = await this.ask<{ readonly doc: ResourcesRow }>('select doc from resources where key = $1', [
      connection,
    ]);
    return rows[0]?.doc;
  }
}
