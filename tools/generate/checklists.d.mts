import type { SpecTitle } from './spec.titles.mjs';

/** The sentences of a system, by their number. */
export type Checklists = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const checklistPage: (
  checklists: Checklists,
  titles: readonly SpecTitle[],
) => { readonly page: string; readonly faults: readonly string[] };
export const checklistReference: (root: string) => Promise<string>;
