import { parseJson } from '@fairlead/parsers';
import * as z from 'zod';
import { MirrorPath, Sha256 } from './digests.js';
import { ExternalFailure, wordsOf } from './failures.js';
import { NodeRole } from './machines.js';

/**
 * A mirror: the files of a cluster, in the layout of the official release site, at an https or http URL or in a folder.
 * A bundle is the part of a mirror that some versions need, in one archive. This file has only data and paths; the
 * agent, the CLI and the tools fetch and verify.
 */

export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** Kubernetes' own binaries on a node. */
export const NODE_BINARIES = ['kubeadm', 'kubelet', 'kubectl'] as const;
export type NodeBinary = (typeof NODE_BINARIES)[number];

/** The client programs of etcd, for use on the node. */
export const ETCD_TOOLS = ['etcdctl', 'etcdutl'] as const;
export type EtcdTool = (typeof ETCD_TOOLS)[number];

/** Paths relative to the root of a mirror. Versions are written as upstream writes them. */
export const mirrorPaths = {
  catalogue: 'catalogue.json',
  binary: (version: string, name: NodeBinary, architecture: Architecture = 'amd64'): string =>
    `release/${version}/bin/linux/${architecture}/${name}`,
  cniPlugins: (version: string, architecture: Architecture = 'amd64'): string =>
    `cni-plugins/${version}/cni-plugins-linux-${architecture}-${version}.tgz`,
  /** Checksum files as on the official site, for people and `sha256sum --check`. Fairlead does not use them. */
  sha256: (path: string): string => `${path}.sha256`,
  /** An archive for `ctr images import` and `docker load`. */
  image: (version: string, name: string): string => `images/${version}/${name}.tar`,
  /** An image that is independent of the Kubernetes version: `flannel-v0.28.4`, `busybox-1`. */
  sharedImage: (name: string, tag: string): string => `images/${name}-${tag}.tar`,
  etcdTool: (version: string, name: EtcdTool): string => `tools/etcd-${version}/${name}`,
  /** A flat apt repository of the distribution's own packages; `debian-13` is ID-VERSION_ID of /etc/os-release. */
  packages: (distribution: string): string => `packages/${distribution}`,
  conformance: (version: string, name: string): string => `conformance/${version}/${name}`,
} as const;

/** Shared images of every mirror: what a host without a registry needs for flannel and for debugging. */
export const SHARED_IMAGES = {
  flannel: { reference: 'localhost/flannel:0.28.4', path: mirrorPaths.sharedImage('flannel', 'v0.28.4') },
  busybox: { reference: 'localhost/busybox:1', path: mirrorPaths.sharedImage('busybox', '1') },
} as const;

/** The official sites. Kubernetes' own has no CNI plugins, no images and no catalogue. */
export const OFFICIAL_RELEASES = 'https://dl.k8s.io';
const OFFICIAL_CNI_PLUGINS = 'https://github.com/containernetworking/plugins/releases/download';

export const isOfficial = (location: string): boolean => location.replace(/(?<!\/)\/+$/, '') === OFFICIAL_RELEASES;

/** The location of a path of the mirror at this URL or folder. Only the official site keeps some files elsewhere. */
export const mirrorLocation = (location: string, path: string): string => {
  const base = location.replace(/(?<!\/)\/+$/, '');
  if (isOfficial(location) && path.startsWith('cni-plugins/'))
    return `${OFFICIAL_CNI_PLUGINS}/${path.slice('cni-plugins/'.length)}`;
  return `${base}/${path}`;
};

export const isUrl = (location: string): boolean => /^https?:\/\//.test(location);

export const MirrorFile = z.object({
  path: MirrorPath,
  size: z.int().min(0).describe('Bytes'),
  sha256: Sha256,
});
export type MirrorFile = z.infer<typeof MirrorFile>;

/** The actual content. `standsInFor` is set if the tag, or kubeadm of that version, names another version. */
export const MirrorComponent = z.object({
  name: z.string(),
  version: z.string(),
  standsInFor: z.string().optional(),
});
export type MirrorComponent = z.infer<typeof MirrorComponent>;

export const MirrorImage = z.object({
  name: z.string(),
  reference: z.string().describe('The tag that it has after the import'),
  path: MirrorPath,
  roles: z.array(NodeRole).describe('Nodes that need it'),
});
export type MirrorImage = z.infer<typeof MirrorImage>;

export const MirrorRelease = z.object({
  version: z.string().describe('v1.34.4'),
  components: z.array(MirrorComponent),
  binaries: z.array(MirrorPath),
  cniPlugins: MirrorPath,
  images: z.array(MirrorImage),
  tools: z.array(MirrorPath).describe('etcdctl and etcdutl of the etcd inside'),
  conformance: z.array(MirrorPath).default([]),
});
export type MirrorRelease = z.infer<typeof MirrorRelease>;

/**
 * A distribution's packages with all dependencies, as a flat repository: `Packages` and the `.deb` files in one folder.
 */
export const MirrorPackages = z.object({
  distribution: z.string().describe('ID-VERSION_ID of /etc/os-release'),
  folder: MirrorPath,
  requested: z.array(MirrorComponent).describe('What was asked for; the folder has what these depend on, too'),
  files: z.array(MirrorPath),
});
export type MirrorPackages = z.infer<typeof MirrorPackages>;

export const MIRROR_FORMAT = 'fairlead-mirror/1';

/** `catalogue.json` at the root of a mirror. Readers ignore unknown fields, which newer writers may add. */
export const MirrorCatalogue = z.object({
  format: z.literal(MIRROR_FORMAT),
  platform: z.literal('linux/amd64'),
  releases: z.array(MirrorRelease),
  images: z.array(MirrorImage).describe('Of no Kubernetes version: flannel, busybox'),
  packages: z.array(MirrorPackages),
  files: z.array(MirrorFile).describe('Every file but this one, its signature and the .sha256 beside others, by path'),
});
export type MirrorCatalogue = z.infer<typeof MirrorCatalogue>;

const unusable = (location: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read the mirror catalogue', target: location, message, retryable: false });

/** Enough for about 40 releases of 2,000 files. */
const CATALOGUE_LIMITS = { lengthMax: 16 * 1_048_576, valuesMax: 2_000_000 };

/** Parses `catalogue.json`. Throws ExternalFailure if it is invalid, or names a file without a checksum. */
export const parseCatalogue = (text: string, location: string): MirrorCatalogue => {
  let json: unknown;
  try {
    json = parseJson(text, CATALOGUE_LIMITS);
  } catch (error) {
    throw unusable(location, wordsOf(error));
  }
  const read = MirrorCatalogue.safeParse(json);
  if (!read.success) {
    const issue = read.error.issues[0];
    throw unusable(location, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a catalogue'}`);
  }
  const known = new Set(read.data.files.map(({ path }) => path));
  const missing = namedPaths(read.data).find((path) => !known.has(path));
  if (missing !== undefined) throw unusable(location, `it names ${missing} without its checksum`);
  return read.data;
};

const releasePaths = (release: MirrorRelease): readonly string[] => [
  ...release.binaries,
  release.cniPlugins,
  ...release.images.map(({ path }) => path),
  ...release.tools,
];

const namedPaths = ({ releases, images, packages }: MirrorCatalogue): readonly string[] => [
  ...releases.flatMap((release) => [...releasePaths(release), ...release.conformance]),
  ...images.map(({ path }) => path),
  ...packages.flatMap(({ files }) => files),
];

export const releaseIn = (catalogue: MirrorCatalogue, version: string): MirrorRelease | undefined =>
  catalogue.releases.find((release) => release.version === version);

/** The images that a node of this role needs in a cluster of this version, including shared ones. */
export const imagesFor = (catalogue: MirrorCatalogue, version: string, role: NodeRole): readonly MirrorImage[] =>
  [...(releaseIn(catalogue, version)?.images ?? []), ...catalogue.images].filter(({ roles }) => roles.includes(role));

/**
 * A catalogue with only what clusters of these versions need, without conformance tools. Throws ExternalFailure if a
 * version is missing.
 */
export const partOf = (catalogue: MirrorCatalogue, versions: readonly string[], location: string): MirrorCatalogue => {
  const releases = versions.map((version) => {
    const release = releaseIn(catalogue, version);
    if (release !== undefined) return { ...release, conformance: [] };
    const there = catalogue.releases.map((each) => each.version).join(', ') || 'no version at all';
    throw unusable(location, `it has no ${version}, only ${there}`);
  });
  const part = { ...catalogue, releases };
  const desired = new Set(namedPaths(part));
  return { ...part, files: catalogue.files.filter(({ path }) => desired.has(path)) };
};
