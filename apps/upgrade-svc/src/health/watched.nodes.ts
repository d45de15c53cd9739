import { heartbeatSubject } from '@fairlead/contracts';
import { PARTITIONS, type Partitions } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { clusterKey, type NodeRow } from '../nodes/nodes.projection.js';
import { NodesQueries } from '../nodes/nodes.queries.js';

/** A node of a partition of this replica, with a running agent. */
export interface Watched {
  /** The subject of its heartbeats. */
  readonly key: string;
  readonly row: NodeRow;
  readonly lost: boolean;
  /** Since when this replica expects its heartbeats. */
  readonly expectedSinceMs: number;
}

const groupedByCluster = (nodes: Iterable<Watched>): ReadonlyMap<string, readonly NodeRow[]> => {
  const groups = new Map<string, NodeRow[]>();
  for (const { row } of nodes) {
    const key = clusterKey(row.namespace, row.cluster);
    const rows = groups.get(key) ?? [];
    groups.set(key, rows);
    rows.push(row);
  }
  return groups;
};

/** The nodes that this replica decides about, from its rows. Reads a partition's rows only after they changed. */
@Injectable()
export class WatchedNodes {
  private nodes = new Map<string, Watched>();
  private clusters: ReadonlyMap<string, readonly NodeRow[]> | undefined;
  private owned: ReadonlySet<number> = new Set();
  private readonly changed = new Set<number>();
  private stopListening = (): void => undefined;
  private onChange = (): void => undefined;

  constructor(
    @Inject(PARTITIONS) private readonly partitions: Partitions,
    @Inject(NodesQueries) private readonly queries: NodesQueries,
  ) {}

  /** `onChange`: the set of watched nodes will differ after the next `reload`. */
  start(onChange: () => void): void {
    this.onChange = onChange;
    this.stopListening = this.partitions.onChange((owned) => this.ownedChanged(owned));
    this.ownedChanged(this.partitions.owned());
  }

  stop(): void {
    this.stopListening();
  }

  /** Called when rows of nodes in this partition have changed. */
  rowsChanged(partition: number): void {
    if (!this.owned.has(partition)) return;
    this.changed.add(partition);
    this.onChange();
  }

  get ownedPartitions(): readonly number[] {
    return [...this.owned].sort((a, b) => a - b);
  }

  all(): Iterable<Watched> {
    return this.nodes.values();
  }

  /** Their rows by cluster; grouped once per change, because a thousand clusters are queried every second. */
  byCluster(): ReadonlyMap<string, readonly NodeRow[]> {
    this.clusters ??= groupedByCluster(this.nodes.values());
    return this.clusters;
  }

  /** Returns undefined if its partition belongs to another replica. */
  get(key: string): Watched | undefined {
    return this.nodes.get(key);
  }

  /** The log already states it; the row will follow. */
  setLost(key: string, lost: boolean): void {
    const watched = this.nodes.get(key);
    if (watched !== undefined) this.nodes.set(key, { ...watched, lost });
  }

  async reload(): Promise<void> {
    const partitions = [...this.changed];
    if (partitions.length === 0) return;
    this.changed.clear();
    try {
      this.replace(partitions, await this.queries.watched(partitions));
    } catch (error) {
      for (const partition of partitions) this.changed.add(partition);
      throw error;
    }
  }

  private ownedChanged(owned: ReadonlySet<number>): void {
    for (const partition of owned) if (!this.owned.has(partition)) this.changed.add(partition);
    this.owned = owned;
    this.replaceAll([...this.nodes].filter(([, { row }]) => owned.has(row.partition)));
    this.onChange();
  }

  private replace(partitions: readonly number[], rows: readonly NodeRow[]): void {
    const kept = [...this.nodes].filter(([, { row }]) => !partitions.includes(row.partition));
    const found = rows
      .filter(({ partition }) => this.owned.has(partition))
      .map((row): [string, Watched] => {
        const key = heartbeatSubject(row.namespace, row.cluster, row.node);
        const known = this.nodes.get(key);
        const expectedSinceMs = known?.row.uid === row.uid ? known.expectedSinceMs : performance.now();
        return [key, { key, row, lost: row.lost, expectedSinceMs }];
      });
    this.replaceAll([...kept, ...found]);
  }

  private replaceAll(nodes: readonly (readonly [string, Watched])[]): void {
    this.nodes = new Map(nodes);
    this.clusters = undefined;
  }
}
