/** `1.34.4`, with or without the leading v, with or without what follows the patch (`3.6.5-0`). */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export const versionOf = (text: string): Version => {
  const [major = Number.NaN, minor = Number.NaN, patch = 0] = text
    .replace(/^v/, '')
    .split(/[.+-]/)
    .slice(0, 3)
    .map(Number);
  if (Number.isNaN(major) || Number.isNaN(minor) || Number.isNaN(patch)) throw new Error(`no version: ${text}`);
  return { major, minor, patch };
};

/** How many minors `to` is ahead of `from`; negative: behind. Across majors no such number exists. */
export const minorsAhead = (from: string, to: string): number => {
  const [a, b] = [versionOf(from), versionOf(to)];
  return a.major === b.major ? b.minor - a.minor : (b.major - a.major) * Number.POSITIVE_INFINITY;
};

/** Negative: `one` is older than `other`. */
export const compareVersions = (one: string, other: string): number => {
  const [a, b] = [versionOf(one), versionOf(other)];
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
};

export const oldest = (versions: readonly string[]): string | undefined => versions.toSorted(compareVersions)[0];
export const newest = (versions: readonly string[]): string | undefined => versions.toSorted(compareVersions).at(-1);

/** `1.34` */
export const minorOf = (text: string): string => {
  const { major, minor } = versionOf(text);
  return `${major}.${minor}`;
};

export const isMinorChange = (from: string, to: string): boolean => minorsAhead(from, to) !== 0;
