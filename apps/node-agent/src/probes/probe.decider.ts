/** How many missing or wrong responses in a row count as a failure, because a single one may be lost for any reason. */
const FAILURES_MIN = 2;

export interface ProbeState {
  readonly failures: number;
  /** When the current series of failures began, on a monotonic clock. */
  readonly failingSinceMs: number | null;
  readonly isReported: boolean;
}

export const WELL: ProbeState = { failures: 0, failingSinceMs: null, isReported: false };

export interface Answered {
  readonly isWell: boolean;
  readonly message: string;
  readonly atMs: number;
}

export type ProbeChange =
  { readonly kind: 'failed'; readonly message: string } | { readonly kind: 'recovered'; readonly failedForMs: number };

/** Returns the probe after a response, and the resulting change. */
export const answered = (
  state: ProbeState,
  { isWell, message, atMs }: Answered,
): { readonly state: ProbeState; readonly change: ProbeChange | undefined } => {
  if (isWell) {
    const failedForMs = Math.round(atMs - (state.failingSinceMs ?? atMs));
    return { state: WELL, change: state.isReported ? { kind: 'recovered', failedForMs } : undefined };
  }
  const failures = state.failures + 1;
  const failingSinceMs = state.failingSinceMs ?? atMs;
  const isChange = failures >= FAILURES_MIN && !state.isReported;
  return {
    state: { failures, failingSinceMs, isReported: state.isReported || isChange },
    change: isChange ? { kind: 'failed', message } : undefined,
  };
};
