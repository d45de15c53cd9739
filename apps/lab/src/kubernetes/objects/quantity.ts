import type { IntOrString } from './core.types.js';

/** A number, or a percentage of `total`, rounded up or down as the field requires. */
export const scaledValue = (value: IntOrString, total: number, round: 'up' | 'down'): number => {
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value);
  if (percent?.[1] === undefined) return 0;
  const exact = (Number(percent[1]) * total) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
};
