import {
  VERIFICATIONS,
  type KubernetesRelease,
  KUBERNETES_RELEASES,
  compareVersions,
  minorOf,
  minorsAhead,
  newestVersion,
  versionOf,
} from '@fairlead/contracts';

/** The versions that an upgrade passes through, the current one first. */
export interface VersionPath {
  readonly versions: readonly string[];
  /** Why it does not reach its target: the target is an older minor, or no release of a minor on the path is known. */
  readonly obstacle?: { readonly kind: 'lower' } | { readonly kind: 'minor-unknown'; readonly missing: string };
}

/** The latest patch among the best verified: on real hosts, else in the lab, else any. */
const preferredOf = (releases: readonly KubernetesRelease[], minor: string): string | undefined => {
  const patches = releases.filter(({ version }) => minorOf(version) === minor);
  const best = VERIFICATIONS.find((one) => patches.some(({ verified }) => verified === one));
  return newestVersion(patches.filter(({ verified }) => verified === best).map(({ version }) => version));
};

/**
 * First the preferred patch of the current minor, unless a later one is installed; then each minor at its preferred
 * patch; finally the requested target. The path ends at a minor without a known release.
 */
export const versionPath = (
  present: string,
  target: string,
  releases: readonly KubernetesRelease[] = KUBERNETES_RELEASES,
): VersionPath => {
  const ahead = minorsAhead(present, target);
  if (ahead < 0) return { versions: [present], obstacle: { kind: 'lower' } };
  if (ahead === 0) return { versions: present === target ? [present] : [present, target] };
  const { major, minor } = versionOf(present);
  const preferred = preferredOf(releases, minorOf(present));
  const versions = [
    present,
    ...(preferred !== undefined && compareVersions(preferred, present) > 0 ? [preferred] : []),
  ];
  for (let next = minor + 1; next < minor + ahead; next += 1) {
    const between = preferredOf(releases, `${major}.${next}`);
    if (between === undefined) return { versions, obstacle: { kind: 'minor-unknown', missing: `${major}.${next}` } };
    versions.push(between);
  }
  return { versions: [...versions, target] };
};
