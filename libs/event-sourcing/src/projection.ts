import type { StoredEvent } from '@fairlead/contracts';

/**
 * A read model: one document per key, folded from events. Pure; the runner writes the rows and the position in one
 * transaction. Its table has the columns `key text primary key, seq bigint, doc jsonb` and any generated columns
 * (`generated always as (doc->>'phase') stored`) that queries need.
 */
export interface Projection<Doc> {
  readonly name: string;
  readonly table: string;
  /** The rows that the event concerns, determined by the event alone. */
  keys(event: StoredEvent): readonly string[];
  /** The row after the event (never changed in place); undefined: no row, or the row is deleted. */
  evolve(doc: Doc | undefined, event: StoredEvent, key: string): Doc | undefined;
}

/** An event that the pure code of a consumer failed on. Its cluster waits for an operator; no other does. */
export interface Poison {
  readonly clusterKey: string;
  readonly seq: number;
  readonly eventId: string;
  readonly error: string;
}

/** How a batch of events changes the rows of a projection. `doc` undefined: the row is deleted. */
export interface RowChanges<Doc> {
  readonly rows: ReadonlyMap<string, { readonly seq: number; readonly doc: Doc | undefined }>;
  readonly poisons: readonly Poison[];
}

export const clusterKeyOf = (event: StoredEvent): string => `${event.meta.namespace}/${event.meta.cluster}`;

export const poisonOf = (event: StoredEvent, error: unknown): Poison => ({
  clusterKey: clusterKeyOf(event),
  seq: event.meta.seq,
  eventId: event.meta.id,
  error: error instanceof Error ? (error.stack ?? error.message) : String(error),
});

/** Folds a batch over the rows it touches. `rowOf` returns the row as it was before the batch. */
export const project = <Doc>(
  projection: Projection<Doc>,
  rowOf: (key: string) => Doc | undefined,
  events: readonly StoredEvent[],
): RowChanges<Doc> => {
  const rows = new Map<string, { seq: number; doc: Doc | undefined }>();
  const poisons = new Map<string, Poison>();
  for (const event of events) {
    if (poisons.size > 0 && poisons.has(clusterKeyOf(event))) continue;
    try {
      for (const key of projection.keys(event)) {
        const before = rows.has(key) ? rows.get(key)?.doc : rowOf(key);
        const after = projection.evolve(before, event, key);
        if (after !== before) rows.set(key, { seq: event.meta.seq, doc: after });
      }
    } catch (error) {
      poisons.set(clusterKeyOf(event), poisonOf(event, error));
    }
  }
  return { rows, poisons: [...poisons.values()] };
};
