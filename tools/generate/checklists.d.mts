import type { SpecTitle } from './spec.titles.mjs';

export interface ChecklistLine {
  /** As it was asked. */
  readonly sentence: string;
  /** What of it does not hold; absent: nothing. */
  readonly missing?: string;
  /** Only the simulated cloud does it. */
  readonly onlySimulated?: true;
}

/** The lines of a system, by their number. */
export type Checklists = Readonly<Record<string, Readonly<Record<string, ChecklistLine>>>>;

export const checklistPage: (
  checklists: Checklists,
  titles: readonly SpecTitle[],
) => { readonly page: string; readonly faults: readonly string[] };
export const checklistReference: (root: string) => Promise<string>;
