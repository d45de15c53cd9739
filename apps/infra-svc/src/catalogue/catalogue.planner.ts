import type { ApplicationSettings, ApplicationVersion } from '@fairlead/contracts';
import rcompare from 'semver/functions/rcompare.js';
import satisfies from 'semver/functions/satisfies.js';
import valid from 'semver/functions/valid.js';
import type { IndexedVersion } from './catalogue.ports.js';

const NAMED_MAX = 5;

/** How the catalogue gets the versions of an application that were registered. */
export interface CataloguePlan {
  /** Every version that belongs there, newest first. */
  readonly keep: readonly IndexedVersion[];
  /** Those of them that are downloaded: all others are known with the same digest. */
  readonly download: readonly IndexedVersion[];
  /** Known versions that do not. */
  readonly remove: readonly string[];
  /** Where no version matches: a few that the repository has, newest first. */
  readonly others: readonly string[];
}

type Known = readonly Pick<ApplicationVersion, 'version' | 'digest'>[];

/** Newest first. Of versions that differ in their build alone, and so are equal, the first counts. */
const newestFirst = (indexed: readonly IndexedVersion[]): readonly IndexedVersion[] => {
  const usable = indexed.filter(({ version, deprecated }) => !deprecated && valid(version) !== null);
  const sorted = usable.toSorted((one, other) => rcompare(one.version, other.version));
  return sorted.filter((one, index) => index === 0 || rcompare(sorted[index - 1]!.version, one.version) !== 0);
};

/** Of names of versions alone: the newest in the range. */
export const newestIn = (
  { range, keep }: Pick<ApplicationSettings, 'range' | 'keep'>,
  versions: readonly string[],
): readonly string[] =>
  versions
    .filter((version) => valid(version) !== null && satisfies(version, range))
    .toSorted(rcompare)
    .slice(0, keep);

/** Deprecated entries and what is no semantic version are left out; pre-releases match only a range that names one. */
export const planOf = (
  { range, keep: max }: Pick<ApplicationSettings, 'range' | 'keep'>,
  indexed: readonly IndexedVersion[],
  known: Known,
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
