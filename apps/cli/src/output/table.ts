/** Rows under headings; an empty one says why in `empty`. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly empty: string;
}

const GAP = '   ';

/** Columns as wide as their widest cell; an empty cell is a dash, so that columns can be counted by programs too. */
export const tableText = ({ columns, rows, empty }: Table): string => {
  if (rows.length === 0) return empty;
  const shown = [
    columns.map((column) => column.toUpperCase()),
    ...rows.map((row) => columns.map((_, index) => cellOf(row[index]))),
  ];
  const widths = columns.map((_, index) => Math.max(...shown.map((row) => row[index]?.length ?? 0)));
  return shown
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
};

const cellOf = (cell: string | undefined): string =>
  cell === undefined || cell === '' ? '-' : cell.replaceAll(/\s+/g, ' ');
