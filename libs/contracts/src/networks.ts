import type { Cni } from './cluster-spec.js';

export interface NetworkRelease {
  readonly version: string;
  /** What it was run on: `lab` means that its manifests were applied, but that no packet has gone through it. */
  readonly verifiedOn: 'lab' | 'real';
}

/** With the images of their projects' registries. */
export const NETWORK_RELEASES = {
  flannel: { version: 'v0.28.4', verifiedOn: 'lab' },
  calico: { version: 'v3.28.5', verifiedOn: 'lab' },
  canal: { version: 'v3.28.5', verifiedOn: 'lab' },
  kilo: { version: '0.6.0', verifiedOn: 'lab' },
  cilium: { version: 'v1.20.2', verifiedOn: 'lab' },
} as const satisfies Readonly<Record<Cni, NetworkRelease>>;

/** With the images of a mirror, for hosts that pull none; of the others no mirror has images. */
export const PRELOADED_NETWORK_RELEASES = {
  flannel: { version: 'v0.28.4', verifiedOn: 'real' },
} as const satisfies Readonly<Partial<Record<Cni, NetworkRelease>>>;
