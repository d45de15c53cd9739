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

/** Through which versions an upgrade goes, the present one first. */
export interface VersionPath {
  readonly versions: readonly string[];
  /** Why it does not reach its target: that is a lower minor, or there is no release of a minor on the way. */
  readonly obstacle?: { readonly kind: 'lower' } | { readonly kind: 'minor-unknown'; readonly missing: string };
}

/** The latest patch among those that were run best: on real hosts, else in the lab, else any. */
const preferredOf = (releases: readonly KubernetesRelease[], minor: string): string | undefined => {
  const patches = releases.filter(({ version }) => minorOf(version) === minor);
  const best = VERIFICATIONS.find((one) => patches.some(({ verified }) => verified === one));
  return newestVersion(patches.filter(({ verified }) => verified === best).map(({ version }) => version));
};

/**
 * First the preferred patch of the present minor, unless a later one runs; then minor by minor, each at its preferred patch; the target
 * as it was asked for. A minor that no release is known of ends the way.
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
