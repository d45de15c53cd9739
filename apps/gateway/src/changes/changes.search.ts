import { hasSettled, type Difference, type Facts } from './changes.js';

/** A place in a history: after so many of its events. */
export interface Point<State> {
  readonly index: number;
  readonly state: State;
  readonly facts: Facts;
}

export interface Search<State> {
  /** The point after more events, up to the index. */
  readonly onTo: (from: Point<State>, index: number) => Point<State>;
  /** So many points are looked at; what is not found by then stays without an event. */
  readonly looksMax: number;
}

/**
 * Finds for each difference the index of the event after which it had its value in the end, by bisection: the differences that a point has
 * already are looked for before it, the others after it. A value that came, went and came again is found at one of those events. Looks at
 * about (events that changed something) x log2(events) points, and yields after each, so that its caller can let others run.
 */
export function* settledBy<State>(
  { onTo, looksMax }: Search<State>,
  [from, to]: readonly [Point<State>, Point<State>],
  differences: readonly Difference[],
): Generator<void, ReadonlyMap<Difference, number>> {
  const found = new Map<Difference, number>();
  const segments: { readonly lo: Point<State>; readonly hi: number; readonly open: readonly Difference[] }[] = [];
  const add = (lo: Point<State>, hi: number, open: readonly Difference[]): void => {
    if (open.length === 0) return;
    if (hi - lo.index > 1) segments.push({ lo, hi, open });
    else for (const difference of open) found.set(difference, lo.index);
  };
  if (to.index > from.index) add(from, to.index, differences);
  for (let looks = 0; looks < looksMax; looks += 1) {
    const segment = segments.pop();
    if (segment === undefined) break;
    const { lo, hi, open } = segment;
    const middle = onTo(lo, Math.floor((lo.index + hi) / 2));
    yield;
    const isEarlier = (difference: Difference): boolean => hasSettled(middle.facts, difference);
    add(lo, middle.index, open.filter(isEarlier));
    add(
      middle,
      hi,
      open.filter((difference) => !isEarlier(difference)),
    );
  }
  return found;
}
