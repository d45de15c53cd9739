/** The record without that key. Where it has none, it is returned as it is: a state that does not change stays the same object. */
export const without = <Value>(
  record: Readonly<Record<string, Value>>,
  key: string,
): Readonly<Record<string, Value>> => {
  if (!Object.hasOwn(record, key)) return record;
  const { [key]: _removed, ...others } = record;
  return others;
};
