/**
 * The release archive for machines without Debian's apt, and its SHA-256. Source: NATS' own image definition,
 * github.com/nats-io/nats-docker, `2.14.x/alpine3.22/Dockerfile` at commit aa0caa5 (2026-08-12), which downloads and
 * verifies these archives. To raise the version, update all of them from there together.
 */
export const NATS_RELEASE = {
  version: '2.14.5',
  sha256: {
    amd64: '5e3b603d47c447bda1f77f9ac16dbf91c90aac4ff3681f8fbbc7201e4ed99355',
    arm64: '673a98d3faa79dde3f9ebf16d6dfac36a5f694e7ad2015e4954dd7939c85cd4c',
    arm7: 'c8796b63a8603fdebabd63146ac3d3997c29a2829fdd2af6db320f4a287f2e71',
    s390x: '829193e8c592e0df5f15402c27417df18d26503d22b77dfc9491982fe0b51a67',
    ppc64le: '5d8f1a264a3bc4b30899814ae8e898b1268e817074635adddd24b32f388e4cc4',
  },
} as const;

export type ReleaseCpu = keyof typeof NATS_RELEASE.sha256;

/** The release's name for Node's CPU name; undefined if there is no pinned archive. */
export const releaseCpuOf = (platform: NodeJS.Platform, arch: string): ReleaseCpu | undefined => {
  if (platform !== 'linux') return undefined;
  const names: Readonly<Record<string, ReleaseCpu>> = {
    x64: 'amd64',
    arm64: 'arm64',
    arm: 'arm7',
    s390x: 's390x',
    ppc64: 'ppc64le',
  };
  return names[arch];
};

export const releaseUrl = (cpu: ReleaseCpu): string =>
  `https://github.com/nats-io/nats-server/releases/download/v${NATS_RELEASE.version}/${releaseName(cpu)}.tar.gz`;

export const releaseName = (cpu: ReleaseCpu): string => `nats-server-v${NATS_RELEASE.version}-linux-${cpu}`;
