import type { Ask } from '@fairlead/event-sourcing/jetstream';
import { ASK } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { ConnectionRow, NamespaceRow } from './connections.projection.js';

interface DocumentOf<Doc> {
  readonly doc: Doc;
}

@Injectable()
export class ConnectionsQueries {
  constructor(@Inject(ASK) private readonly ask: Ask) {}

  async connection(name: string): Promise<ConnectionRow | undefined> {
    const rows = await this.ask<DocumentOf<ConnectionRow>>('select doc from connections where key = $1', [name]);
    return rows[0]?.doc;
  }

  async namespace(name: string): Promise<NamespaceRow | undefined> {
    const rows = await this.ask<DocumentOf<NamespaceRow>>('select doc from namespaces where key = $1', [name]);
    return rows[0]?.doc;
  }
}
