import type { NodeName } from '@fairlead/contracts';

/** Machines by their names. In a large cluster each is stored by itself, so that one more costs no more than that one. */
export type Names = Readonly<Record<string, true>>;

export const withNames = (names: Names, more: readonly NodeName[]): Names => ({
  ...names,
  ...Object.fromEntries(more.map((name) => [name, true] as const)),
});
