export type Mark = 'done' | 'running' | 'waiting' | 'failed' | 'trouble';

/** One line of a tree, and what hangs below it. */
export interface Branch {
  readonly mark: Mark;
  readonly label: string;
  readonly detail?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly children: readonly Branch[];
  /** Its label is long, and matters whole: it takes as many lines as it needs, up to a few. */
  readonly wraps?: boolean;
}
