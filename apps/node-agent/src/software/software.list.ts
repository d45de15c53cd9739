import { NODE_BINARIES, type AgentProfile, type KubernetesRelease, type SoftwareVersions } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { pauseImageOf } from './containerd.config.js';
import { containerdItem } from './containerd.item.js';
import { hostnameItem } from './hostname.item.js';
import type { Item } from './item.js';
import { kubeletItem } from './kubelet.item.js';
import { modulesItem } from './modules.item.js';
import type { PackageDriver } from './package.driver.js';
import { packagesItem } from './packages.item.js';
import { swapItem } from './swap.item.js';
import { sysctlItem } from './sysctl.item.js';

/** Items that do not need each other: they are ensured at the same time. */
export type Stage = readonly Item[];

export interface SoftwareOptions {
  readonly node: string;
  readonly desired: SoftwareVersions;
  /** Those of them that are not built in. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
  /** Kubernetes has called the node Ready before, so kubelet must run; before that kubeadm starts it. */
  readonly hasBeenReady: boolean;
  /** The kind of host; undefined: as on a host made by packages. */
  readonly profile?: AgentProfile | undefined;
}

/** What is the same wherever the software comes from, by what it is. */
const commonItems = (options: SoftwareOptions, host: HostPort, packages: PackageDriver) => {
  const { node, desired, hasBeenReady } = options;
  const { failSwapOn = true, cgroupDriver = 'systemd', imageRepository, proxy } = options.profile ?? {};
  const pauseImage = pauseImageOf(desired['kubelet'] ?? '', imageRepository, options.releases);
  return {
    hostname: hostnameItem(host, node),
    // A kubelet that tolerates swap is no reason to take it from the host's owner.
    swap: failSwapOn ? [swapItem(host)] : [],
    modules: modulesItem(host),
    sysctl: sysctlItem(host),
    runtime: containerdItem({ host, packages, pauseImage, cgroupDriver, proxy }),
    kubelet: kubeletItem(host, hasBeenReady),
  };
};

/** Everything that the agent ensures on a host whose software comes by packages: a later stage may need an earlier one. */
export const packagesList = (options: SoftwareOptions, host: HostPort, packages: PackageDriver): readonly Stage[] => {
  const { hostname, swap, modules, sysctl, runtime, kubelet } = commonItems(options, host, packages);
  const software = packagesItem(host, packages, options.desired);
  return [hostname, ...swap, modules, sysctl, software, runtime, kubelet].map((item) => [item]);
};

/** What a host needs beyond that where Kubernetes' own programs come as files. */
export interface FileItems {
  readonly tools: Item;
  readonly binaries: PackageDriver;
  /** Whatever only has to be there, in any order. */
  readonly others: readonly Item[];
  readonly kubeletUnit: Item;
}

/** The distribution brings the runtime and tools; then everything else comes at the same time. */
export const filesList = (
  options: SoftwareOptions,
  host: HostPort,
  distribution: PackageDriver,
  { tools, binaries, others, kubeletUnit }: FileItems,
): readonly Stage[] => {
  const { hostname, swap, modules, sysctl, runtime, kubelet } = commonItems(options, host, distribution);
  const { ours, theirs } = splitSoftware(options.desired);
  return [
    // apt takes one caller at a time.
    [hostname, ...swap, tools],
    [packagesItem(host, distribution, theirs), modules],
    [sysctl, runtime],
    [{ ...packagesItem(host, binaries, ours), name: 'kubernetes' }, ...others, kubeletUnit],
    [kubelet],
  ];
};

/** Kubernetes' own programs, and what the distribution has. */
export const splitSoftware = (
  desired: SoftwareVersions,
): { readonly ours: SoftwareVersions; readonly theirs: SoftwareVersions } => {
  const isOurs = ([name]: readonly [string, string]): boolean => (NODE_BINARIES as readonly string[]).includes(name);
  const all = Object.entries(desired);
  return {
    ours: Object.fromEntries(all.filter(isOurs)),
    theirs: Object.fromEntries(all.filter((entry) => !isOurs(entry))),
  };
};
