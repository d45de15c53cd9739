import {
  OPERATION_KINDS,
  SCORE_CAUSES,
  type FleetCauses,
  type FleetDurations,
  type OperationKind,
  type ScoreCause,
} from '@fairlead/contracts';
import { lanesOf, nodesIn, totalsOf, type ScoreEvent } from '@fairlead/domain';

/** An operation that succeeded. */
export interface Took {
  readonly kind: OperationKind;
  readonly startedAt: string;
  readonly finishedAt: string;
}

const MEDIAN = 0.5;
const LONG = 0.9;

/** The nearest rank: a duration that an operation had. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;

const spread = (durations: readonly number[]) => {
  const sorted = durations.toSorted((one, other) => one - other);
  return { count: sorted.length, medianMs: quantile(sorted, MEDIAN), longMs: quantile(sorted, LONG) };
};

/** How long each node spent with each cause. */
export type CauseTimes = readonly (readonly [ScoreCause, number])[];

/** The times of all nodes of an operation. `events`: of its cluster, from its request on. */
export const causeTimesOf = (
  events: readonly ScoreEvent[],
  { startedAt, finishedAt }: Pick<Took, 'startedAt' | 'finishedAt'>,
): CauseTimes => {
  const [fromMs, toMs] = [Date.parse(startedAt), Date.parse(finishedAt)];
  const within = events.filter(({ time }) => Date.parse(time) <= toMs);
  return lanesOf(within, nodesIn(within), { fromMs, toMs }).flatMap((lane) => totalsOf([lane]));
};

/** How long a node usually spends with each cause, in the order of causes; those that no node had are left out. */
export const causesOf = (operations: readonly CauseTimes[]): FleetCauses['items'] =>
  SCORE_CAUSES.flatMap((cause) => {
    const times = operations.flat().flatMap(([of, ms]) => (of === cause ? [ms] : []));
    return times.length === 0 ? [] : [{ cause, ...spread(times) }];
  });

/** How long operations of each kind took; kinds without one are left out. */
export const durationsOf = (operations: readonly Took[]): FleetDurations['items'] =>
  OPERATION_KINDS.flatMap((kind) => {
    const durations = operations
      .filter((one) => one.kind === kind)
      .map(({ startedAt, finishedAt }) => Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)));
    return durations.length === 0 ? [] : [{ operation: kind, ...spread(durations) }];
  });
