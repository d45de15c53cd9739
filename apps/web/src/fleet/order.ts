/** Whoever points at a list finds each row where it was: known rows keep their order, new ones follow, and those that are gone leave. */
export const keepOrder = <Row>(rows: readonly Row[], before: readonly string[], keyOf: (row: Row) => string): Row[] => {
  const place = new Map(before.map((key, index) => [key, index]));
  const placeOf = (row: Row): number => place.get(keyOf(row)) ?? before.length;
  return rows
    .map((row, index) => ({ row, index }))
    .sort((one, other) => placeOf(one.row) - placeOf(other.row) || one.index - other.index)
    .map(({ row }) => row);
};
