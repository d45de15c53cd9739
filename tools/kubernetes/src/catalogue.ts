import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ETCD_TOOLS,
  imagesOf,
  KUBERNETES_RELEASES,
  MIRROR_FORMAT,
  mirrorPaths,
  NODE_BINARIES,
  SHARED_IMAGES,
  type KubernetesRelease,
  type MirrorCatalogue,
  type MirrorComponent,
  type MirrorFile,
  type MirrorImage,
  type MirrorPackages,
  type MirrorRelease,
} from '@fairlead/contracts';
import { catalogueText, writeWhole } from '@fairlead/mirror';
import type { Builder } from './build.js';
import { DISTRIBUTIONS, HOST_PACKAGES, type Distribution } from './debian.js';
import { etcdOf, FLANNEL_VERSION } from './recipes.js';

/** Writes the catalogue of the mirror: the complete versions of this build and of earlier builds. */
export const writeCatalogue = async (
  mirror: string,
  builder: Builder,
  network: Distribution,
): Promise<MirrorCatalogue> => {
  const files = new Map<string, MirrorFile>();
  const add = (some: readonly MirrorFile[]) => some.forEach((file) => files.set(file.path, file));
  const releases: MirrorRelease[] = [];
  for (const release of KUBERNETES_RELEASES) {
    const made = await builder.releaseFiles(release, network);
    if (made === undefined) continue;
    const tools = (await builder.conformanceFiles(release.version, network)) ?? [];
    add([...made, ...tools]);
    releases.push({ ...releaseEntry(release), conformance: tools.map(({ path }) => path) });
  }
  const packages: MirrorPackages[] = [];
  for (const distribution of DISTRIBUTIONS) {
    const made = await builder.packageFiles(distribution);
    if (made === undefined) continue;
    add(made);
    packages.push(await packagesEntry(mirror, distribution, made));
  }
  const catalogue: MirrorCatalogue = {
    format: MIRROR_FORMAT,
    platform: 'linux/amd64',
    releases,
    images: releases.length === 0 ? [] : sharedImages(),
    packages,
    files: [...files.values()].filter(({ path }) => !path.endsWith('.sha256')).sort(byPath),
  };
  await writeWhole(join(mirror, mirrorPaths.catalogue), catalogueText(catalogue));
  return catalogue;
};

const byPath = (one: MirrorFile, other: MirrorFile): number => (one.path < other.path ? -1 : 1);

const releaseEntry = (release: KubernetesRelease): MirrorRelease => {
  const { version } = release;
  const etcd = etcdOf(release);
  return {
    version,
    components: componentsOf(release, etcd),
    binaries: NODE_BINARIES.map((name) => mirrorPaths.binary(version, name)),
    cniPlugins: mirrorPaths.cniPlugins(release.cniPlugins),
    images: imagesOf(release).map(({ name, reference, roles }) => ({
      name,
      reference,
      path: mirrorPaths.image(version, name),
      roles: [...roles],
    })),
    tools: ETCD_TOOLS.map((name) => mirrorPaths.etcdTool(etcd.version, name)),
    conformance: [],
  };
};

const componentsOf = (release: KubernetesRelease, etcd: MirrorComponent): MirrorComponent[] => [
  { name: 'kubernetes', version: release.version },
  etcd,
  { name: 'coredns', version: release.coredns },
  { name: 'pause', version: 'fairlead', standsInFor: release.pause },
  { name: 'cni-plugins', version: release.cniPlugins },
  { name: 'flannel', version: FLANNEL_VERSION },
];

const sharedImages = (): MirrorImage[] =>
  (['flannel', 'busybox'] as const).map((name) => ({
    name,
    ...SHARED_IMAGES[name],
    roles: ['control-plane', 'worker'],
  }));

const packagesEntry = async (
  mirror: string,
  { name }: Distribution,
  files: readonly MirrorFile[],
): Promise<MirrorPackages> => {
  const folder = mirrorPaths.packages(name);
  const index = await readFile(join(mirror, folder, 'Packages'), 'utf8');
  const versions = new Map(
    index.split('\n\n').map((stanza) => [fieldOf(stanza, 'Package'), fieldOf(stanza, 'Version')]),
  );
  return {
    distribution: name,
    folder,
    requested: HOST_PACKAGES.map((each) => ({ name: each, version: versions.get(each) ?? '' })),
    files: files.map(({ path }) => path),
  };
};

const fieldOf = (stanza: string, name: string): string => new RegExp(`^${name}: (.+)$`, 'm').exec(stanza)?.[1] ?? '';
