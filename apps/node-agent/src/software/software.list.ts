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

/** Independent items, which are ensured concurrently. */
export type Stage = readonly Item[];

export interface SoftwareOptions {
  readonly node: string;
  readonly desired: SoftwareVersions;
  /** Releases that are not built in. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
  /** Kubernetes has reported the node Ready before, so the kubelet must run; before that, kubeadm starts it. */
  readonly hasBeenReady: boolean;
  /** The kind of host; undefined: software from packages. */
  readonly profile?: AgentProfile | undefined;
}

/** Items that are the same for every source of software, by name. */
const commonItems = (options: SoftwareOptions, host: HostPort, packages: PackageDriver) => {
  const { node, desired, hasBeenReady } = options;
  const { failSwapOn = true, cgroupDriver = 'systemd', imageRepository, proxy } = options.profile ?? {};
  const pauseImage = pauseImageOf(desired['kubelet'] ?? '', imageRepository, options.releases);
  return {
    hostname: hostnameItem(host, node),
    // If the kubelet tolerates swap, the host keeps it.
    swap: failSwapOn ? [swapItem(host)] : [],
    modules: modulesItem(host),
    sysctl: sysctlItem(host),
    runtime: containerdItem({ host, packages, pauseImage, cgroupDriver, proxy }),
    kubelet: kubeletItem(host, hasBeenReady),
  };
};

/** All items of a host with software from packages. A later stage may depend on an earlier one. */
export const packagesList = (options: SoftwareOptions, host: HostPort, packages: PackageDriver): readonly Stage[] => {
  const { hostname, swap, modules, sysctl, runtime, kubelet } = commonItems(options, host, packages);
  const software = packagesItem(host, packages, options.desired);
  return [hostname, ...swap, modules, sysctl, software, runtime, kubelet].map((item) => [item]);
};

/** Additional items of a host on which Kubernetes' own programs come from files. */
export interface FileItems {
  readonly tools: Item;
  readonly binaries: PackageDriver;
  /** Items without dependencies among each other. */
  readonly others: readonly Item[];
  readonly kubeletUnit: Item;
}

/** The distribution provides the runtime and tools; then everything else is ensured concurrently. */
export const filesList = (
  options: SoftwareOptions,
  host: HostPort,
  distribution: PackageDriver,
  { tools, binaries, others, kubeletUnit }: FileItems,
): readonly Stage[] => {
  const { hostname, swap, modules, sysctl, runtime, kubelet } = commonItems(options, host, distribution);
  const { ours, theirs } = splitSoftware(options.desired);
  return [
    // apt does not run concurrently.
    [hostname, ...swap, tools],
    [packagesItem(host, distribution, theirs), modules],
    [sysctl, runtime],
    [{ ...packagesItem(host, binaries, ours), name: 'kubernetes' }, ...others, kubeletUnit],
    [kubelet],
  ];
};

/** Splits Kubernetes' own programs from the distribution's packages. */
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
