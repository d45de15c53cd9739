import type { StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface FoldedRow<Doc> {
  readonly key: string;
  readonly seq: number;
  readonly doc: Doc;
}

type Rows<Doc> = ReadonlyMap<string, FoldedRow<Doc>>;

/** The rows of a projection after more events. */
const rowsAfter = <Doc>(projection: Projection<Doc>, before: Rows<Doc>, events: readonly StoredEvent[]): Rows<Doc> => {
  const rows = new Map(before);
  for (const event of events) {
    for (const key of projection.keys(event)) {
      const doc = projection.evolve(rows.get(key)?.doc, event, key);
      if (doc === undefined) rows.delete(key);
      else rows.set(key, { key, seq: event.meta.seq, doc });
    }
  }
  return rows;
};

const sorted = <Doc>(rows: Rows<Doc>): readonly FoldedRow<Doc>[] =>
  [...rows.values()].sort((one, other) => (one.key < other.key ? -1 : 1));

/** The rows of a projection after a history, by key: what its table holds once it has caught up. */
export const foldRows = <Doc>(
  projection: Projection<Doc>,
  history: readonly StoredEvent[],
): readonly FoldedRow<Doc>[] => sorted(rowsAfter(projection, new Map(), history));

/** A point of a history, from which one can go on to later ones without a fold from the beginning. Each projection is folded when it is asked for. */
export class FoldedHistory {
  private readonly folded = new Map<unknown, unknown>();

  private constructor(
    private readonly before: FoldedHistory | undefined,
    private readonly events: readonly StoredEvent[],
  ) {}

  static of(events: readonly StoredEvent[]): FoldedHistory {
    return new FoldedHistory(undefined, events);
  }

  after(events: readonly StoredEvent[]): FoldedHistory {
    return new FoldedHistory(this, events);
  }

  readonly rowsOf = <Doc>(projection: Projection<Doc>): readonly FoldedRow<Doc>[] => sorted(this.rows(projection));

  private rows<Doc>(projection: Projection<Doc>): Rows<Doc> {
    const known = this.folded.get(projection) as Rows<Doc> | undefined;
    if (known !== undefined) return known;
    const rows = rowsAfter(projection, this.before?.rows(projection) ?? new Map<string, FoldedRow<Doc>>(), this.events);
    this.folded.set(projection, rows);
    return rows;
  }
}
