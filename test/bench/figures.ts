/** A distribution in the few numbers that people compare. */
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

export const lineOf = (distribution: Distribution, unit: string): string =>
  `p50 ${rounded(distribution.p50)}, p90 ${rounded(distribution.p90)}, p99 ${rounded(distribution.p99)}, max ${rounded(distribution.max)} ${unit} (${distribution.count} values)`;

/** One line of the report; `goal` is what it is compared with. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly goal?: string;
  readonly met?: boolean;
}

export const tableOf = (figures: readonly Figure[]): string =>
  [
    '| What | Measured | Goal | |',
    '|---|---|---|---|',
    ...figures.map(
      ({ name, value, goal, met }) =>
        `| ${name} | ${value} | ${goal ?? ''} | ${met === undefined ? '' : met ? 'met' : 'missed'} |`,
    ),
  ].join('\n');
