import type { NodeName } from '@fairlead/contracts';

/**
 * A set of machine names. In a large cluster each entry is stored separately, so that the cost of adding one does not
 * depend on their number.
 */
export type Names = Readonly<Record<string, true>>;

export const withNames = (names: Names, more: readonly NodeName[]): Names => ({
  ...names,
  ...Object.fromEntries(more.map((name) => [name, true] as const)),
});
