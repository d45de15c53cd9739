import { OPERATION_KINDS, type FleetDurations, type OperationKind } from '@fairlead/contracts';

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

/** How long operations of each kind took; kinds without one are left out. */
export const durationsOf = (operations: readonly Took[]): FleetDurations['items'] =>
  OPERATION_KINDS.flatMap((kind) => {
    const sorted = operations
      .filter((one) => one.kind === kind)
      .map(({ startedAt, finishedAt }) => Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)))
      .sort((one, other) => one - other);
    if (sorted.length === 0) return [];
    const [medianMs, longMs] = [quantile(sorted, MEDIAN), quantile(sorted, LONG)];
    return [{ operation: kind, count: sorted.length, medianMs, longMs }];
  });
