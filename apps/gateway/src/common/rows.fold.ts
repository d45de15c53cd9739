import type { StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface FoldedRow<Doc> {
  readonly key: string;
  readonly seq: number;
  readonly doc: Doc;
}

/** The rows of a projection after a history, by key: what its table holds once it has caught up. */
export const foldRows = <Doc>(
  projection: Projection<Doc>,
  history: readonly StoredEvent[],
): readonly FoldedRow<Doc>[] => {
  const rows = new Map<string, FoldedRow<Doc>>();
  for (const event of history) {
    for (const key of projection.keys(event)) {
      const doc = projection.evolve(rows.get(key)?.doc, event, key);
      if (doc === undefined) rows.delete(key);
      else rows.set(key, { key, seq: event.meta.seq, doc });
    }
  }
  return [...rows.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
};
