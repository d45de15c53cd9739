import type { PartitionChanges } from '../jetstream/partition.fold.js';
import type { Position } from '../jetstream/partition.store.js';

/** The content of a service's database. */
export class Database {
  readonly documents = new Map<string, string>();
  positions: ReadonlyMap<string, Position> = new Map();
  /** The sequence up to which every consumer has read. */
  seen = 0;
  /** The next attempt of a task, if not the first. */
  readonly attempts = new Map<string, number>();

  move(positions: ReadonlyMap<string, Position>): void {
    this.positions = positions;
    this.seen = positions.size === 0 ? 0 : Math.min(...[...positions.values()].map(({ seq }) => seq));
  }

  /** Like PostgreSQL, returns parsed JSON, never the object that was written. */
  read(table: string, keys: readonly string[]): Promise<Map<string, unknown>> {
    const found = keys.flatMap((key) => {
      const text = this.documents.get(`${table}|${key}`);
      return text === undefined ? [] : [[key, JSON.parse(text) as unknown] as const];
    });
    return Promise.resolve(new Map(found));
  }

  /** The states of a process, by cluster. */
  *statesOf(consumer: string): Generator<readonly [clusterKey: string, state: unknown]> {
    for (const [place, text] of this.documents) {
      const [name, clusterKey = ''] = place.split('|');
      if (name === consumer) yield [clusterKey, JSON.parse(text)];
    }
  }

  write({ tables, states }: Pick<PartitionChanges, 'tables' | 'states'>): void {
    const written = [
      ...tables.map(({ table, rows }) => ({ table, rows })),
      ...states.map(({ process, rows }) => ({ table: process, rows })),
    ];
    for (const { table, rows } of written)
      for (const { key, doc } of rows) {
        if (doc === undefined) this.documents.delete(`${table}|${key}`);
        else this.documents.set(`${table}|${key}`, JSON.stringify(doc));
      }
  }
}
