import * as z from 'zod';

/** A map with a maximum number of entries, which its JSON Schema states too. */
export const limitedRecord = <Key extends z.ZodString, Value extends z.ZodType>(
  key: Key,
  value: Value,
  entriesMax: number,
): z.ZodRecord<Key, Value> => {
  const check = z.check<Record<string, unknown>>(({ value: given, issues }) => {
    if (Object.keys(given).length <= entriesMax) return;
    issues.push({ code: 'too_big', origin: 'map', maximum: entriesMax, inclusive: true, input: given });
  });
  // A name by which a spec recognizes the limit.
  check._zod.def.check = 'max_entries';
  return z.record(key, value).check(check).meta({ maxProperties: entriesMax }) as z.ZodRecord<Key, Value>;
};
