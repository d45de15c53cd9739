/** Rows under headings; an empty one says why in `empty`. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly empty: string;
}

const GAP = '   ';

/** Columns as wide as their widest cell; an empty cell is a dash, so that columns can be counted by programs too. */
export const tableText = ({ columns, rows, empty }: Table): string =>
  rows.length === 0 ? empty : new GrowingTable(columns).text(rows);

/** A table that comes in pieces: each with columns at least as wide as before, the first with the headings. */
export class GrowingTable {
  private readonly widths: number[];
  private hasBegun = false;

  constructor(private readonly columns: readonly string[]) {
    this.widths = columns.map(({ length }) => length);
  }

  text(rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => this.columns.map((_, index) => cellOf(row[index])));
    for (const row of cells)
      for (const [index, { length }] of row.entries()) this.widths[index] = Math.max(this.widths[index] ?? 0, length);
    const shown = this.hasBegun ? cells : [this.columns.map((column) => column.toUpperCase()), ...cells];
    this.hasBegun = true;
    return shown.map((row) => this.line(row)).join('\n');
  }

  private line(row: readonly string[]): string {
    return row
      .map((cell, index) => cell.padEnd(this.widths[index] ?? 0))
      .join(GAP)
      .trimEnd();
  }
}

const cellOf = (cell: string | undefined): string =>
  cell === undefined || cell === '' ? '-' : cell.replaceAll(/\s+/g, ' ');
