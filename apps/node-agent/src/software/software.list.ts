import type { SoftwareVersions } from '@fairlead/contracts';
import type { HostPort } from '../agent/agent.ports.js';
import { containerdItem } from './containerd.item.js';
import { hostnameItem } from './hostname.item.js';
import type { Item } from './item.js';
import { kubeletItem } from './kubelet.item.js';
import { modulesItem } from './modules.item.js';
import type { PackageDriver } from './package.driver.js';
import { packagesItem } from './packages.item.js';
import { swapItem } from './swap.item.js';
import { sysctlItem } from './sysctl.item.js';

export interface SoftwareOptions {
  readonly node: string;
  readonly wanted: SoftwareVersions;
  /** Kubernetes has called the node Ready before, so kubelet must run; before that kubeadm starts it. */
  readonly hasBeenReady: boolean;
}

/** Everything that the agent ensures, in this order: a later item may need an earlier one. */
export const softwareList = (
  { node, wanted, hasBeenReady }: SoftwareOptions,
  host: HostPort,
  packages: PackageDriver,
): readonly Item[] => [
  hostnameItem(host, node),
  swapItem(host),
  modulesItem(host),
  sysctlItem(host),
  packagesItem(host, packages, wanted),
  containerdItem(host, wanted['kubelet'] ?? ''),
  kubeletItem(host, hasBeenReady),
];
