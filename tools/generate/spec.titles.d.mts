export interface SpecTitle {
  readonly file: string;
  readonly groups: readonly string[];
  readonly title: string;
}

export const titlesIn: (file: string, source: string) => readonly SpecTitle[];
export const specTitles: (root: string) => Promise<readonly SpecTitle[]>;
