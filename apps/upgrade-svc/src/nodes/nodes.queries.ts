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
  /** Concurrent requests are batched into one query; nothing is cached. */
  private readonly rows = new DataLoader<string, NodeRow | undefined>((keys) => this.byKeys(keys), {
    cache: false,
    maxBatchSize: KEYS_MAX,
  });

  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ASK) private readonly ask: Ask,
  ) {}

  /** Nodes with a running agent in these partitions, which should send heartbeats. */
  async watched(partitions: readonly number[]): Promise<readonly NodeRow[]> {
    const rows = await this.database.query<{ doc: NodeRow }[]>(
      'select doc from nodes where partition = any($1) and agent_started',
      [partitions],
    );
    return rows.map(({ doc }) => doc);
  }

  /** Returns undefined if no cluster has this node. */
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
