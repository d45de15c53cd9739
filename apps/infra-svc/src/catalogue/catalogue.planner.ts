import type { ApplicationSettings, ApplicationVersion } from '@fairlead/contracts';
import rcompare from 'semver/functions/rcompare.js';
import satisfies from 'semver/functions/satisfies.js';
import parse from 'semver/functions/parse.js';
import type { IndexedVersion } from './catalogue.ports.js';

const NAMED_MAX = 5;

/** How the catalogue is synchronized with the registered application. */
export interface CataloguePlan {
  /** All versions to keep, newest first. */
  readonly keep: readonly IndexedVersion[];
  /** Versions of `keep` to download; all others are known with the same digest. */
  readonly download: readonly IndexedVersion[];
  /** Known versions to remove. */
  readonly remove: readonly string[];
  /** If no version matches: a few versions of the repository, newest first. */
  readonly others: readonly string[];
}

type KnownVersions = readonly Pick<ApplicationVersion, 'version' | 'digest'>[];

/** Newest first. Versions that differ only in their build are equal, so the first one is used. */
const newestFirst = (indexed: readonly IndexedVersion[]): readonly IndexedVersion[] => {
  const usable = indexed.flatMap((entry) => {
    // Parsed once: a comparison of texts parses both.
    const parsed = entry.deprecated ? null : parse(entry.version);
    return parsed === null ? [] : [{ entry, parsed }];
  });
  const sorted = usable.toSorted((one, other) => rcompare(one.parsed, other.parsed));
  return sorted
    .filter((one, index) => index === 0 || rcompare(sorted[index - 1]!.parsed, one.parsed) !== 0)
    .map(({ entry }) => entry);
};

/** The newest version names in the range. */
export const newestIn = (
  { range, keep }: Pick<ApplicationSettings, 'range' | 'keep'>,
  versions: readonly string[],
): readonly string[] =>
  versions
    .flatMap((version) => parse(version) ?? [])
    .filter((parsed) => satisfies(parsed, range))
    .toSorted(rcompare)
    .slice(0, keep)
    .map(({ raw }) => raw);

/** Skips deprecated entries and invalid versions; pre-releases match only a range that includes one. */
export const planOf = (
  { range, keep: max }: Pick<ApplicationSettings, 'range' | 'keep'>,
  indexed: readonly IndexedVersion[],
  known: KnownVersions,
): CataloguePlan => {
  const versions = newestFirst(indexed);
  const keep = versions.filter(({ version }) => satisfies(version, range)).slice(0, max);
  const digests = new Map(known.map(({ version, digest }) => [version, digest]));
  const kept = new Set(keep.map(({ version }) => version));
  return {
    keep,
    download: keep.filter(({ version, digest }) => digest === undefined || digests.get(version) !== digest),
    remove: known.map(({ version }) => version).filter((version) => !kept.has(version)),
    others: keep.length > 0 ? [] : versions.slice(0, NAMED_MAX).map(({ version }) => version),
  };
};
