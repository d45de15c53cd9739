import {
  imagesFor,
  type AgentConfig,
  type Architecture,
  type MirrorImage,
  type SoftwareVersions,
} from '@fairlead/contracts';
import type { KnownReleases } from '../node/known.releases.js';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { HostFiles, OpenSource } from '../files/files.ports.js';
import { aptPackages } from './apt.packages.js';
import { cniItem } from './cni.item.js';
import { distributionOf } from './distribution.js';
import { etcdctlItem } from './etcdctl.item.js';
import { imagesItem } from './images.item.js';
import { ImageStore, orderImages, type ImageOrder } from './images.js';
import { kubeletUnitItem } from './kubelet.unit.item.js';
import { kubernetesBinaries } from './kubernetes.binaries.js';
import { LaterImages } from './later.images.js';
import { mirrorRepository } from './local.repository.js';
import { Mirror, type TrustedSource } from './mirror.js';
import type { Distribution, PackageDriver } from './package.driver.js';
import { distributionRuntime } from './runtime.packages.js';
import { filesList, packagesList, splitSoftware, type SoftwareOptions, type Stage } from './software.list.js';
import type { Source } from './source.watch.js';
import { seenPackages } from './seen.packages.js';
import { toolsItem } from './tools.item.js';

/** Everything that the agent ensures, for one inspection or one run. */
export interface SoftwareView {
  readonly stages: readonly Stage[];
  /** The packages as observed by its stages. */
  readonly packages: Pick<PackageDriver, 'installed'>;
}

/** The software installation of this host, for the lifetime of the agent. */
export interface HostSoftware {
  readonly packages: PackageDriver;
  view(options: SoftwareOptions): SoftwareView;
  /** Downloads and verifies everything for a later change to this software; changes nothing that runs. */
  stage(desired: SoftwareVersions): Promise<void>;
  /** Called whenever the host is in the desired state: starts downloads that may continue while the node is in use. */
  begin(desired: SoftwareVersions): Promise<void>;
  /** Installs missing packages of the distribution, in any version. */
  require(packages: readonly string[]): Promise<void>;
  /** The verified etcdutl for this Kubernetes version; undefined if the source does not have it. */
  etcdutl(kubernetes: string): Promise<string | undefined>;
  /** The source of all software; absent: the package repositories of the distribution. */
  readonly source?: Source;
}

const ETCDUTL = '/var/lib/fairlead/etcdutl';
const PROGRAM_MODE = 0o755;

const byPackages = (host: HostPort): HostSoftware => {
  const packages = aptPackages(host);
  return {
    packages,
    view: (options) => {
      const seen = seenPackages(packages);
      return { stages: packagesList(options, host, seen), packages: seen };
    },
    stage: (desired) => packages.stage(desired),
    begin: () => Promise.resolve(),
    require: (names) => packages.require(names),
    etcdutl: () => Promise.resolve(undefined),
  };
};

/** One driver for Kubernetes' own programs, the distribution's driver for all others. */
const bothOf = (ours: PackageDriver, theirs: PackageDriver): PackageDriver => ({
  installed: async (names) => {
    const [files, packages] = await Promise.all([ours.installed(names), theirs.installed(names)]);
    return new Map([...packages, ...files]);
  },
  install: async (packages) => {
    const split = splitSoftware(packages);
    if (Object.keys(split.theirs).length > 0) await theirs.install(split.theirs);
    await ours.install(split.ours);
  },
  stage: async (packages) => {
    const split = splitSoftware(packages);
    if (Object.keys(split.theirs).length > 0) await theirs.stage(split.theirs);
    await ours.stage(split.ours);
  },
  program: (name, version) => (name in splitSoftware({ [name]: version }).ours ? ours : theirs).program(name, version),
});

/** Resolved at its first use, so that an unsupported host fails where that can be reported. */
const lazyDistribution = (distribution: () => Promise<Distribution>): PackageDriver => {
  const runtime = async (): Promise<PackageDriver> => distributionRuntime(await distribution());
  return {
    installed: async (names) => (await runtime()).installed(names),
    install: async (packages) => (await runtime()).install(packages),
    stage: async (packages) => (await runtime()).stage(packages),
    program: async (name, version) => (await runtime()).program(name, version),
    accepts: async (name, desired, found) => (await (await runtime()).accepts?.(name, desired, found)) === true,
  };
};

export interface FilesHostOptions {
  readonly config: Pick<AgentConfig, 'role' | 'leader'>;
  readonly host: HostPort;
  readonly files: HostFiles;
  readonly source: TrustedSource;
  readonly releases?: KnownReleases | undefined;
  readonly architecture: Architecture;
  readonly log: AgentLog;
}

/** Limited, because the node is in use. */
const STAGE_AT_ONCE = 2;

const byFiles = ({ config, host, files, source, architecture, releases, log }: FilesHostOptions): HostSoftware => {
  const mirror = new Mirror(source, files, host, releases);
  const store = new ImageStore(host, mirror);
  const later = new LaterImages({ host, files, store, log });
  let asked: Promise<Distribution> | undefined;
  const distribution = (): Promise<Distribution> => (asked ??= distributionOf(host, mirrorRepository(host, mirror)));
  const theirs = lazyDistribution(distribution);
  const binaries = kubernetesBinaries({ host, files, mirror, architecture });

  const imagesOf = async (version: string): Promise<ImageOrder> => {
    const catalogue = await mirror.catalogue();
    const images = catalogue === undefined ? [] : imagesFor(catalogue, version, config.role);
    return orderImages(images, config.leader === true);
  };
  const allImages = async (version: string): Promise<readonly MirrorImage[]> => {
    const { first, later: others } = await imagesOf(version);
    return [...first, ...others];
  };
  const firstImages = async (version: string): Promise<readonly MirrorImage[]> => (await imagesOf(version)).first;

  const packages = bothOf(binaries, theirs);
  const stageImages = async (kubelet: string): Promise<void> => {
    const images = await allImages(`v${kubelet}`);
    const running = (await packages.installed(['kubelet'])).get('kubelet')?.version;
    const present = running === undefined ? [] : await allImages(`v${running}`);
    await store.import(await store.missing(images), STAGE_AT_ONCE);
    await store.unpinOthers([...images, ...present]);
  };
  return {
    packages,

    stage: async (desired) => {
      const kubelet = desired['kubelet'];
      const staged = [packages.stage(desired), ...(kubelet === undefined ? [] : [stageImages(kubelet)])];
      const failed = (await Promise.allSettled(staged)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },

    view: (options) => {
      const version = `v${options.desired['kubelet'] ?? ''}`;
      const seen = seenPackages(theirs);
      const others = [
        cniItem({ host, files, mirror, architecture, version, releases: options.releases }),
        ...(config.role === 'control-plane' ? [etcdctlItem(files, mirror, version)] : []),
        // The kubelet may garbage-collect unused images, which is no reason to take its node down.
        ...(options.hasBeenReady ? [] : [imagesItem(store, () => firstImages(version))]),
      ];
      const kubeletUnit = kubeletUnitItem(host);
      const stages = filesList(options, host, seen, { tools: toolsItem(distribution), binaries, others, kubeletUnit });
      return { stages, packages: bothOf(binaries, seen) };
    },

    begin: async (desired) => {
      const version = `v${desired['kubelet'] ?? ''}`;
      await later.begin(version, async () => (await imagesOf(version)).later);
    },

    require: async (names) => (await distribution()).require(names),

    etcdutl: async (kubernetes) => {
      const path = (await mirror.release(kubernetes))?.tools.find((tool) => tool.endsWith('/etcdutl'));
      if (path === undefined) return undefined;
      await mirror.place(path, ETCDUTL, PROGRAM_MODE);
      return files.at(ETCDUTL);
    },

    source: {
      address: source.files.address(''),
      releases: async () => (await mirror.look())?.releases.map(({ version }) => version) ?? null,
    },
  };
};

export interface HostSoftwareOptions {
  readonly config: AgentConfig;
  readonly host: HostPort;
  /** Required only if software comes from files. */
  readonly files: HostFiles | undefined;
  readonly openSource: OpenSource;
  readonly architecture: Architecture;
  readonly releases?: KnownReleases | undefined;
  readonly log: AgentLog;
}

/** Throws if the source requires files of the host and there are none. */
export const hostSoftware = (options: HostSoftwareOptions): HostSoftware => {
  const { config, host, files, openSource, architecture, releases, log } = options;
  const { source = { kind: 'packages' } as const } = config.profile ?? {};
  switch (source.kind) {
    case 'packages':
      return byPackages(host);
    case 'bundle':
      throw new Error('a bundle is unpacked into a folder before an agent starts');
    case 'files': {
      if (files === undefined) throw new Error('software as files needs a host with files');
      const { kind: _, location, ...trust } = source;
      const opened = openSource(location, files, config.profile?.proxy);
      return byFiles({ config, host, files, source: { location, trust, files: opened }, architecture, releases, log });
    }
  }
};
