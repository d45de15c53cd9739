export type Mark = 'done' | 'running' | 'waiting' | 'failed' | 'trouble';

/** One line of a tree, and its children. */
export interface Branch {
  readonly mark: Mark;
  readonly label: string;
  readonly detail?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly children: readonly Branch[];
  /** Its label is long and important: it is wrapped to a few lines. */
  readonly wraps?: boolean;
}
