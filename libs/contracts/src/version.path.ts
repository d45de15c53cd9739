import { KUBERNETES_RELEASES, type KubernetesRelease } from './software.js';
import { compareVersions, minorOf, minorsAhead, newestVersion, versionOf } from './versions.js';

/** Through which versions an upgrade goes, the present one first. */
export interface VersionPath {
  readonly versions: readonly string[];
  /** Why it does not reach its target: that is a lower minor, or there is no release of a minor on the way. */
  readonly obstacle?: { readonly kind: 'lower' } | { readonly kind: 'minor-unknown'; readonly missing: string };
}

const latestOf = (releases: readonly KubernetesRelease[], minor: string): string | undefined =>
  newestVersion(releases.map(({ version }) => version).filter((version) => minorOf(version) === minor));

/**
 * First the latest patch of the present minor, then minor by minor, each at its latest patch; the target as it was asked for.
 * A minor that no release is known of ends the way.
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
  const latest = latestOf(releases, minorOf(present));
  const versions = [present, ...(latest !== undefined && compareVersions(latest, present) > 0 ? [latest] : [])];
  for (let next = minor + 1; next < minor + ahead; next += 1) {
    const between = latestOf(releases, `${major}.${next}`);
    if (between === undefined) return { versions, obstacle: { kind: 'minor-unknown', missing: `${major}.${next}` } };
    versions.push(between);
  }
  return { versions: [...versions, target] };
};
