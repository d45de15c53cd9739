/** How often a process may crash, and how long to wait before it is started again. */
export interface RestartPolicy {
  /** So many crashes within the window are too many. */
  readonly crashesMax: number;
  readonly windowMs: number;
  /** Doubles with each crash of the window, up to the maximum. */
  readonly delayMs: number;
  readonly delayMaxMs: number;
}

export const RESTART_POLICY: RestartPolicy = { crashesMax: 6, windowMs: 60_000, delayMs: 100, delayMaxMs: 5_000 };

export type RestartPlan =
  { readonly type: 'restart'; readonly delayMs: number } | { readonly type: 'give-up'; readonly crashes: number };

/** What to do after the last of these crashes. */
export const planRestart = (crashTimesMs: readonly number[], policy: RestartPolicy): RestartPlan => {
  const latestMs = crashTimesMs.at(-1) ?? 0;
  const crashes = crashTimesMs.filter((timeMs) => latestMs - timeMs < policy.windowMs).length;
  if (crashes >= policy.crashesMax) return { type: 'give-up', crashes };
  return { type: 'restart', delayMs: Math.min(policy.delayMs * 2 ** Math.max(0, crashes - 1), policy.delayMaxMs) };
};
