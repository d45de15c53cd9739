import type { KubernetesRelease } from './kubernetes.release.js';
import { ARCHITECTURES, mirrorPaths, NODE_BINARIES, type Architecture } from './mirror.js';
import { KUBERNETES_SHA256 } from './software.sha256.js';

type ReleaseDigests = NonNullable<KubernetesRelease['sha256']>;

/** By version. Builds from source have other bytes: their digests are in the catalogue of their mirror. */
export const KUBERNETES_DIGESTS: ReadonlyMap<string, ReleaseDigests> = KUBERNETES_SHA256.trim()
  .split('\n')
  .reduce((known, line) => {
    const [version = '', architecture = '', kubeadm = '', kubelet = '', kubectl = ''] = line.split(' ');
    return known.set(version, { ...known.get(version), [architecture]: { kubeadm, kubelet, kubectl } });
  }, new Map<string, ReleaseDigests>());

/** SHA-256 of the archives of github.com/containernetworking/plugins. */
const CNI_PLUGINS_SHA256: Readonly<Record<string, Readonly<Record<Architecture, string>>>> = {
  'v1.9.1': {
    amd64: 'b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303',
    arm64: '56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec',
  },
};

const pinnedIn = (
  version: string,
  cniPlugins: string,
  digests: ReleaseDigests,
): readonly (readonly [path: string, sha256: string])[] =>
  ARCHITECTURES.flatMap((architecture) => {
    const programs = digests[architecture];
    if (programs === undefined) return [];
    return [
      ...NODE_BINARIES.map((name) => [mirrorPaths.binary(version, name, architecture), programs[name]] as const),
      ...(programs.cniPlugins === undefined
        ? []
        : [[mirrorPaths.cniPlugins(cniPlugins, architecture), programs.cniPlugins] as const]),
    ];
  });

const PINNED: ReadonlyMap<string, string> = new Map([
  ...[...KUBERNETES_DIGESTS].flatMap(([version, digests]) => pinnedIn(version, '', digests)),
  ...Object.entries(CNI_PLUGINS_SHA256).flatMap(([version, of]) =>
    ARCHITECTURES.map((architecture) => [mirrorPaths.cniPlugins(version, architecture), of[architecture]] as const),
  ),
]);

/**
 * The required SHA-256 of the release file at this path of the official layout; undefined: unknown. `releases` are
 * those of this installation beside the built-in ones, and take precedence.
 */
export const pinnedSha256 = (path: string, releases: readonly KubernetesRelease[] = []): string | undefined => {
  const own = new Map(
    releases.flatMap(({ version, cniPlugins, sha256 }) =>
      sha256 === null ? [] : pinnedIn(version, cniPlugins, sha256),
    ),
  );
  return own.get(path) ?? PINNED.get(path);
};
