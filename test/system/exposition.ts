/** A sample of Prometheus' text format, or a series of a test of rules. */
export interface Series {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
}

const SERIES = /^(\w+)(?:\{(.*)\})?$/u;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/gu;

export const seriesOf = (text: string): Series => {
  const [, metric = '', labels = ''] = SERIES.exec(text) ?? [];
  return {
    metric,
    labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, name = '', value = '']) => [name, value])),
  };
};

const keyOf = ({ metric, labels }: Series): string =>
  `${metric} ${Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted()
    .join()}`;

const textOf = ({ metric, labels }: Series): string => {
  const all = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return all.length === 0 ? metric : `${metric}{${all.join(',')}}`;
};

interface Line {
  readonly series: Series;
  readonly value: number;
}

const lineOf = (line: string): Line | undefined => {
  const at = line.lastIndexOf(' ');
  return line.startsWith('#') || at < 0
    ? undefined
    : { series: seriesOf(line.slice(0, at)), value: Number(line.slice(at + 1)) };
};

/** The family of a sample: that of a histogram is without its suffix. */
const familiesOf = (metric: string): readonly string[] => [metric, metric.replace(/_(bucket|sum|count)$/u, '')];

/** Whether a page has the metric at all, also without a sample. */
export const hasFamily = (page: string, metric: string): boolean =>
  familiesOf(metric).some((family) => page.includes(`# TYPE ${family} `));

/** Names of labels that the page has for a metric and that a series lacks, or has in addition. */
export const otherLabels = (page: string, { metric, labels }: Series): readonly string[] => {
  const found = page
    .split('\n')
    .map(lineOf)
    .find((line) => line?.series.metric === metric);
  if (found === undefined) return [];
  const [own, real] = [Object.keys(labels), Object.keys(found.series.labels)];
  return [...own.filter((name) => !real.includes(name)), ...real.filter((name) => !own.includes(name))];
};

/** The page with other values: of a series that it lacks, after its family. */
export const withValues = (
  page: string,
  values: readonly { readonly series: Series; readonly value: (before: number) => number }[],
): string => {
  const left = new Map(values.map((one) => [keyOf(one.series), one]));
  const lines = page.split('\n').map((line) => {
    const found = lineOf(line);
    const other = found === undefined ? undefined : left.get(keyOf(found.series));
    if (found === undefined || other === undefined) return line;
    left.delete(keyOf(found.series));
    return `${textOf(found.series)} ${other.value(found.value)}`;
  });
  for (const { series, value } of left.values()) {
    const [first, second] = familiesOf(series.metric);
    const at = lines.findIndex((line) => line.startsWith(`# TYPE ${first} `) || line.startsWith(`# TYPE ${second} `));
    lines.splice(at + 1, 0, `${textOf(series)} ${value(0)}`);
  }
  return lines.join('\n');
};

const TERM = /^(-?[\d.e+]+?)(?:([+-][\d.]+))?x(\d+)$/u;

/** The samples of promtool's notation: `0x3` are four, `1+2x2` are 1, 3 and 5. */
export const samplesOf = (values: string): readonly number[] =>
  values.split(' ').flatMap((term) => {
    const [, start = term, step = '0', count = '0'] = TERM.exec(term) ?? [];
    return Array.from({ length: Number(count) + 1 }, (_, at) => Number(start) + at * Number(step));
  });
