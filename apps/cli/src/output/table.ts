import { shortened, wrapped } from './wrap.js';

/** A column, and how it adapts if the line is too long. */
export interface Column {
  readonly title: string;
  /** Sentences: wrapped between words. */
  readonly isProse?: boolean;
  /** Hidden if the line is too long, highest number first; undefined: never. */
  readonly leaves?: number;
}

/** A column of sentences. */
export const prose = (title: string): Column => ({ title, isProse: true });

/** A column that is hidden if the line is too long; of several, the one with the highest `leaves` is hidden first. */
export const optional = (title: string, leaves: number, { isProse = false } = {}): Column => ({
  ...{ title, leaves, isProse },
});

/** Rows with headings; `empty` is the message for a table without rows. */
export interface Table {
  readonly columns: readonly (Column | string)[];
  readonly rows: readonly (readonly string[])[];
  readonly empty: string;
}

const GAP = '   ';
/** Used in narrow terminals. */
const GAP_NARROW = '  ';
const PROSE_WIDTH_MIN = 24;
/** The minimum for every column: narrower ones are unreadable. */
const WIDTH_MIN = 6;

/**
 * Columns as wide as their widest cell, in lines of at most `room` characters: prose is wrapped, then optional columns
 * are hidden and named below, and finally cells are truncated with an ellipsis. An empty cell is a dash, so that
 * programs can count columns.
 */
export const tableText = ({ columns, rows, empty }: Table, room = Number.POSITIVE_INFINITY): string => {
  if (rows.length === 0) return empty;
  const table = new GrowingTable(columns, room);
  return [table.text(rows), ...table.leftOutText()].join('\n');
};

interface Layout {
  readonly gap: string;
  /** By column; undefined if it is hidden. */
  readonly widths: readonly (number | undefined)[];
}

/**
 * A table that is printed in parts: columns never become narrower from part to part, if the width permits; only the
 * first part has headings.
 */
export class GrowingTable {
  private readonly columns: readonly Column[];
  private readonly natural: number[];
  private hasBegun = false;
  private leftOut: ReadonlySet<Column> = new Set();

  constructor(
    columns: readonly (Column | string)[],
    private readonly room = Number.POSITIVE_INFINITY,
  ) {
    this.columns = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
    this.natural = this.columns.map(({ title }) => title.length);
  }

  text(rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => this.columns.map((_, index) => cellOf(row[index])));
    for (const row of cells)
      for (const [index, { length }] of row.entries()) this.natural[index] = Math.max(this.natural[index] ?? 0, length);
    const layout = this.layout();
    const shown = this.hasBegun ? cells : [this.columns.map(({ title }) => title.toUpperCase()), ...cells];
    this.hasBegun = true;
    return shown.flatMap((row) => this.lines(row, layout)).join('\n');
  }

  /** A line with the names of the hidden columns; empty if there are none. */
  leftOutText(): readonly string[] {
    const names = this.columns.filter((column) => this.leftOut.has(column)).map(({ title }) => title.toUpperCase());
    if (names.length === 0) return [];
    return wrapped(`(no room for ${names.join(', ')}: widen the terminal, or use -o yaml)`, this.room);
  }

  /** Columns that are hidden in one part stay hidden: the headings are printed once. */
  private layout(): Layout {
    const left = new Set(this.leftOut);
    for (const column of this.columnsThatLeave()) {
      if (left.has(column)) continue;
      if (this.needed(left) <= this.room || this.hasBegun) break;
      left.add(column);
    }
    this.leftOut = left;
    return layoutOf(
      this.columns.map((column, index) => ({
        ...column,
        natural: left.has(column) ? undefined : Math.min(this.natural[index] ?? 0, this.room),
      })),
      this.room,
    );
  }

  private columnsThatLeave(): readonly Column[] {
    const those = this.columns.filter(({ leaves }) => leaves !== undefined);
    return those.toSorted((one, other) => (other.leaves ?? 0) - (one.leaves ?? 0));
  }

  /** The width of a line without the hidden columns, with prose at its minimum. */
  private needed(left: ReadonlySet<Column>): number {
    const widths = this.columns.flatMap((column, index) =>
      left.has(column) ? [] : [leastOf(column, this.natural[index] ?? 0)],
    );
    return sum(widths) + GAP_NARROW.length * (widths.length - 1);
  }

  private lines(row: readonly string[], { gap, widths }: Layout): readonly string[] {
    const cells = row.flatMap((cell, index) => {
      const width = widths[index];
      if (width === undefined) return [];
      const isProse = this.columns[index]?.isProse === true;
      return [{ width, lines: isProse ? wrapped(cell, width) : [shortened(cell, width)] }];
    });
    const height = Math.max(...cells.map(({ lines }) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      cells
        .map(({ width, lines }) => (lines[line] ?? '').padEnd(width))
        .join(gap)
        .trimEnd(),
    );
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const leastOf = ({ title, isProse = false }: Column, natural: number): number =>
  isProse ? Math.min(natural, Math.max(title.length, PROSE_WIDTH_MIN)) : natural;

type Measured = Column & { readonly natural: number | undefined };

const layoutOf = (columns: readonly Measured[], room: number): Layout => {
  const shown = columns.filter(({ natural }) => natural !== undefined).length;
  const total = sum(columns.map(({ natural = 0 }) => natural));
  const gap = total + GAP.length * (shown - 1) <= room ? GAP : GAP_NARROW;
  const widths = columns.map(({ natural }) => natural);
  const excess = (): number => sum(widths.map((width = 0) => width)) + gap.length * (shown - 1) - room;
  const least = (column: Measured): number => leastOf(column, column.natural ?? 0);
  narrow(
    widths,
    columns.map((column) => (column.isProse === true ? least(column) : Number.POSITIVE_INFINITY)),
    excess,
  );
  const cut = columns.map(({ natural = 0 }) => Math.min(natural, WIDTH_MIN));
  const [first = 0, ...others] = cut;
  narrow(widths, [columns[0]?.natural ?? first, ...others], excess);
  narrow(widths, cut, excess);
  return { gap, widths };
};

/** Reduces the widest column until the line fits, or until all have their minimum width. */
const narrow = (widths: (number | undefined)[], least: readonly number[], excess: () => number): void => {
  while (excess() > 0) {
    let widest: number | undefined;
    for (const [index, width = 0] of widths.entries())
      if (width > (least[index] ?? 0) && (widest === undefined || width > (widths[widest] ?? 0))) widest = index;
    if (widest === undefined) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
};

const cellOf = (cell: string | undefined): string =>
  cell === undefined || cell === '' ? '-' : cell.replaceAll(/\s+/g, ' ');
