/** Fields of every object that differ after each write. */
const OF_THE_SERVER: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'generation']);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const inside = (one: unknown, other: unknown, path: string): string | undefined => {
  if (isObject(one) && isObject(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = inside(one[key], other[key], path === '' ? key : `${path}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    for (const [at, item] of one.entries()) {
      const found = inside(item, other[at], `${path}[${at}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return one === other ? undefined : path;
};

const declaredPart = (object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const { status: _status, metadata, ...others } = object;
  const own = isObject(metadata) ? Object.entries(metadata).filter(([key]) => !OF_THE_SERVER.has(key)) : [];
  return { ...others, metadata: Object.fromEntries(own) };
};

/** The first field that would be changed, without its value. undefined: none. */
export const differenceOf = (
  live: Readonly<Record<string, unknown>>,
  applied: Readonly<Record<string, unknown>>,
): string | undefined => inside(declaredPart(live), declaredPart(applied), '');
