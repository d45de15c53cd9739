import coerce from 'semver/functions/coerce.js';
import compare from 'semver/functions/compare.js';

/** `1.34.4`: text before and after it is ignored (`v1.34.4`, `3.6.5-0`, `1.7.24~ds1-6`). */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const BEGINS_AS_VERSION = /^v?\d+\.\d+/;

const parsed = (text: string): ReturnType<typeof coerce> => (BEGINS_AS_VERSION.test(text) ? coerce(text) : null);

/** undefined: the text contains no version. */
export const parseVersion = (text: string): Version | undefined => parsed(text) ?? undefined;

export const versionOf = (text: string): Version => {
  const version = parseVersion(text);
  if (version === undefined) throw new Error(`"${text}" is not a version`);
  return version;
};

/** Negative: `one` is older than `other`. A text without a version is older than any version. */
export const compareVersions = (one: string, other: string): number =>
  compare(parsed(one) ?? '0.0.0', parsed(other) ?? '0.0.0');

export const oldestVersion = (versions: readonly string[]): string | undefined => versions.toSorted(compareVersions)[0];
export const newestVersion = (versions: readonly string[]): string | undefined =>
  versions.toSorted(compareVersions).at(-1);

/** `1.34` */
export const minorOf = (text: string): string => {
  const { major, minor } = versionOf(text);
  return `${major}.${minor}`;
};

/** How many minors `to` is ahead of `from`; negative: behind. Undefined across majors. */
export const minorsAhead = (from: string, to: string): number => {
  const [a, b] = [versionOf(from), versionOf(to)];
  return a.major === b.major ? b.minor - a.minor : (b.major - a.major) * Number.POSITIVE_INFINITY;
};

export const isMinorChange = (from: string, to: string): boolean => minorsAhead(from, to) !== 0;

/** `v1.33.0 to v1.33.13, v1.34.4`: consecutive patches as a range, oldest first. */
export const versionRanges = (versions: readonly string[]): string => {
  const ranges: { first: string; last: string }[] = [];
  for (const version of versions.toSorted(compareVersions)) {
    const range = ranges.at(-1);
    if (range !== undefined && follows(range.last, version)) range.last = version;
    else ranges.push({ first: version, last: version });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first} to ${last}`)).join(', ');
};

const follows = (one: string, other: string): boolean => {
  const [a, b] = [versionOf(one), versionOf(other)];
  return a.major === b.major && a.minor === b.minor && b.patch === a.patch + 1;
};
