import {
  type StoredEvent,
  type KubernetesRelease,
  type ReleaseOrigin,
  type WithdrawnRelease,
  KUBERNETES_RELEASES,
  releaseOf,
  CONNECTIONS_STREAM,
  streamSubject,
  compareVersions,
} from '@fairlead/contracts';

/** Maximum releases of an installation in addition to the built-in ones. */
export const OWN_RELEASES_MAX = 500;

export interface AcceptedCatalogue {
  readonly sequence: number;
  readonly expires: string;
  readonly sha256: string;
  readonly acceptedAt: string;
}

/**
 * The Kubernetes releases that an installation knows in addition to the built-in ones. Releases that clusters may run
 * are never removed.
 */
export interface OwnReleases {
  readonly releases: ReadonlyMap<string, { readonly release: KubernetesRelease; readonly origin: ReleaseOrigin }>;
  /** Why no new cluster or upgrade may use a release. */
  readonly withdrawn: ReadonlyMap<string, string>;
  /** Public keys that may sign catalogues. */
  readonly signers: readonly string[];
  /** The latest catalogue of each signer. */
  readonly catalogues: ReadonlyMap<string, AcceptedCatalogue>;
}

export const NO_OWN_RELEASES: OwnReleases = {
  releases: new Map(),
  withdrawn: new Map(),
  signers: [],
  catalogues: new Map(),
};

/** Matches every event of `OwnReleases`. */
export const RELEASES_FILTER = `${streamSubject(CONNECTIONS_STREAM)}.>`;

const withReleases = (
  { releases }: OwnReleases,
  added: readonly KubernetesRelease[],
  origin: ReleaseOrigin,
): OwnReleases['releases'] =>
  new Map([...releases, ...added.map((release) => [release.version, { release, origin }] as const)]);

const withWithdrawn = ({ withdrawn }: OwnReleases, more: readonly WithdrawnRelease[]): OwnReleases['withdrawn'] =>
  new Map([...withdrawn, ...more.map(({ version, reason }) => [version, reason] as const)]);

export const ownReleasesAfter = (before: OwnReleases, event: StoredEvent): OwnReleases => {
  switch (event.type) {
    case 'ReleaseSignersSet':
      return { ...before, signers: event.data.signers };
    case 'ReleaseCatalogueAccepted': {
      const { signer, sequence, expires, sha256, releases, withdrawn } = event.data;
      const accepted = { sequence, expires, sha256, acceptedAt: event.meta.time };
      return {
        ...before,
        releases: withReleases(before, releases, 'catalogue'),
        withdrawn: withWithdrawn(before, withdrawn),
        catalogues: new Map(before.catalogues).set(signer, accepted),
      };
    }
    case 'ReleaseAdded': {
      const { release } = event.data;
      const withdrawn = new Map([...before.withdrawn].filter(([version]) => version !== release.version));
      return { ...before, releases: withReleases(before, [release], 'added'), withdrawn };
    }
    case 'ReleaseWithdrawn':
      return { ...before, withdrawn: withWithdrawn(before, [event.data]) };
    default:
      return before;
  }
};

/** The rows that add to the built-in ones or replace them. */
export const ownRows = ({ releases }: OwnReleases): readonly KubernetesRelease[] =>
  [...releases.values()].map(({ release }) => release);

/** Every known release, oldest first, including withdrawn ones: clusters may run them. */
export const knownReleases = (own: OwnReleases): readonly KubernetesRelease[] => {
  if (own.releases.size === 0) return KUBERNETES_RELEASES;
  const builtIn = KUBERNETES_RELEASES.filter(({ version }) => !own.releases.has(version));
  return [...builtIn, ...ownRows(own)].toSorted((one, other) => compareVersions(one.version, other.version));
};

/** The releases available for new clusters and upgrades, oldest first. */
export const offeredReleases = (own: OwnReleases): readonly KubernetesRelease[] =>
  knownReleases(own).filter(({ version }) => !own.withdrawn.has(version));

/** undefined: unknown. Withdrawn releases are known. */
export const findRelease = ({ releases }: OwnReleases, version: string): KubernetesRelease | undefined =>
  releases.get(version)?.release ?? releaseOf(version);

export const originOf = ({ releases }: OwnReleases, version: string): ReleaseOrigin =>
  releases.get(version)?.origin ?? 'built-in';

/** Rows of these versions that are not built in, or differ from the built-in ones. */
export const rowsBeyondBuiltIn = (own: OwnReleases, versions: readonly string[]): readonly KubernetesRelease[] =>
  [...new Set(versions)].flatMap((version) => {
    const release = own.releases.get(version)?.release;
    return release === undefined || isSameRelease(release, releaseOf(version)) ? [] : [release];
  });

export const isSameRelease = (one: KubernetesRelease, other: KubernetesRelease | undefined): boolean =>
  other !== undefined && JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    : value;
