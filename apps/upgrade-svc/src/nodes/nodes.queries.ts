import type { NodeAddress } from '@fairlead/contracts';
import type { Ask } from '@fairlead/event-sourcing/jetstream';
import { ASK, DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import type { DataSource } from 'typeorm';
import { nodeKey, type NodeRow } from './nodes.projection.js';

const KEYS_MAX = 256;

/** Reads the node rows of this service. */
@Injectable()
export class NodesQueries {
  /** What is asked for at once is one query; nothing is remembered. */
  private readonly rows = new DataLoader<string, NodeRow | undefined>((keys) => this.byKeys(keys), {
    cache: false,
    maxBatchSize: KEYS_MAX,
  });

  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ASK) private readonly ask: Ask,
  ) {}

  /** Nodes whose agent runs, of these partitions: those that should send heartbeats. */
  async watched(partitions: readonly number[]): Promise<readonly NodeRow[]> {
    const rows = await this.database.query<{ doc: NodeRow }[]>(
      'select doc from nodes where partition = any($1) and agent_started',
      [partitions],
    );
    return rows.map(({ doc }) => doc);
  }

  /** undefined: no cluster has, or still has, this node. */
  one({ namespace, cluster, node }: NodeAddress): Promise<NodeRow | undefined> {
    return this.rows.load(nodeKey(namespace, cluster, node));
  }

  private async byKeys(keys: readonly string[]): Promise<(NodeRow | undefined)[]> {
    const rows = await this.ask<{ key: string; doc: NodeRow }>('select key, doc from nodes where key = any($1)', [
      keys,
    ]);
    const docs = new Map(rows.map(({ key, doc }) => [key, doc]));
    return keys.map((key) => docs.get(key));
  }
}
