/** What a hook last answered at a point. */
export interface HookAnswer {
  readonly hook: string;
  readonly point: string;
  readonly state: 'succeeded' | 'blocked' | 'failed' | 'skipped';
  readonly seq: number;
  readonly time: string;
  readonly sentence: string;
}

const STATES: readonly (readonly [RegExp, HookAnswer['state']])[] = [
  [/HookSucceeded$/, 'succeeded'],
  [/HookBlocked$/, 'blocked'],
  [/HookFailed$/, 'failed'],
  [/^HookSkipped$/, 'skipped'],
];

interface HookEvent {
  readonly seq: number;
  readonly type: string;
  readonly time: string;
  readonly sentence: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The latest answer of each hook at each point. A skip without a point is one of every point that was held. */
export const answersOf = (events: readonly HookEvent[]): readonly HookAnswer[] => {
  const answers = new Map<string, HookAnswer>();
  for (const { seq, type, time, sentence, data } of events) {
    const state = STATES.find(([pattern]) => pattern.test(type))?.[1];
    const { hook, point } = data;
    if (state === undefined || typeof hook !== 'string') continue;
    const points =
      typeof point === 'string'
        ? [point]
        : [...answers.values()].flatMap((one) =>
            one.hook === hook && (one.state === 'blocked' || one.state === 'failed') ? [one.point] : [],
          );
    for (const one of points) answers.set(`${hook} ${one}`, { hook, point: one, state, seq, time, sentence });
  }
  return [...answers.values()];
};
