/** SQLSTATE classes about the data, not the server: cardinality, data, constraints, limits of a row or an index. */
const DATA_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '54']);
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** A fault of the data itself: a retry cannot help, and only its own cluster must wait. */
export const isDataError = (error: unknown): error is Error => {
  if (!(error instanceof Error)) return false;
  if (error instanceof SyntaxError || error instanceof RangeError || error.name === 'ZodError') return true;
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && SQLSTATE.test(code) && DATA_CLASSES.has(code.slice(0, 2));
};
