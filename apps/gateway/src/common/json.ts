/** Values of JSON are the same when they would be written the same, whatever the order of their keys. */
export const sameJson = (one: unknown, other: unknown): boolean => canonicalJson(one) === canonicalJson(other);

/** JSON with the keys of every object in order, so that equal values have equal text. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted);

const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
