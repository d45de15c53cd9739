const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity ("250m", "1.5Gi", 2) as a number of base units; undefined if it is invalid. */
export const parseQuantity = (quantity: string | number): number | undefined => {
  if (typeof quantity === 'number') return quantity;
  const match = /^([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(e[+-]?[0-9]+|E[+-]?[0-9]+|[a-zA-Z]*)$/.exec(quantity.trim());
  if (match?.[1] === undefined) return undefined;
  const suffix = match[2] ?? '';
  if (/^[eE][+-]?[0-9]+$/.test(suffix)) return Number(`${match[1]}${suffix}`);
  const scale = SUFFIXES[suffix];
  return scale === undefined ? undefined : Number(match[1]) * scale;
};
