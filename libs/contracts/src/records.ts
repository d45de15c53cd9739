/**
 * The record without that key. Returns the same object if it lacks the key, so that an unchanged state keeps its
 * identity.
 */
export const without = <Value>(
  record: Readonly<Record<string, Value>>,
  key: string,
): Readonly<Record<string, Value>> => {
  if (!Object.hasOwn(record, key)) return record;
  const { [key]: _removed, ...others } = record;
  return others;
};
