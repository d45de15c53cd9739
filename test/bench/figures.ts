/** A distribution, summarized for comparison. */
export interface Distribution {
  readonly count: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export const distributionOf = (values: readonly number[]): Distribution => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return {
    count: sorted.length,
    min: at(0),
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    max: sorted.at(-1) ?? Number.NaN,
  };
};

export const rounded = (value: number, digits = 1): string => value.toFixed(digits);

export const lineOf = ({ count, p50, p90, p99, max }: Distribution, unit: string, digits = 1): string => {
  const [middle, most, almostAll, all] = [p50, p90, p99, max].map((value) => rounded(value, digits));
  return `p50 ${middle}, p90 ${most}, p99 ${almostAll}, max ${all} ${unit} (${count} values)`;
};

/**
 * One line of the report. A time is given as measured, and normalised to the reference machine, which takes `factor`
 * times as long.
 */
export interface Figure {
  readonly name: string;
  readonly value: (factor: number) => string;
  readonly goal?: string;
  readonly met?: (factor: number) => boolean;
}

/** A figure that does not depend on the speed of the machine, such as memory. */
export const fixed = (name: string, value: string): Figure => ({ name, value: () => value });

export const scaled = (distribution: Distribution, factor: number): Distribution => ({
  count: distribution.count,
  min: distribution.min * factor,
  p50: distribution.p50 * factor,
  p90: distribution.p90 * factor,
  p99: distribution.p99 * factor,
  max: distribution.max * factor,
});

export const times = (name: string, values: readonly number[], unit: string, digits = 1): Figure => {
  const distribution = distributionOf(values);
  return { name, value: (factor) => lineOf(scaled(distribution, factor), unit, digits) };
};

/** Goals apply to normalised values. */
export const tableOf = (figures: readonly Figure[], factor: number): string =>
  [
    '| What | Measured | Normalised | Goal | |',
    '|---|---|---|---|---|',
    ...figures.map(({ name, value, goal, met }) => {
      const [measured, normalised] = [value(1), value(factor)];
      const verdict = met === undefined ? '' : met(factor) ? 'met' : 'missed';
      return `| ${name} | ${measured} | ${normalised === measured ? '' : normalised} | ${goal ?? ''} | ${verdict} |`;
    }),
  ].join('\n');
