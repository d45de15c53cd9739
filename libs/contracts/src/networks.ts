import type { Cni } from './cluster-spec.js';

export interface NetworkRelease {
  readonly version: string;
  /** `lab`: its manifests were applied, but no packet has gone through it. */
  readonly verifiedOn: 'lab' | 'real';
}

/** Releases with images from their projects' registries. */
export const NETWORK_RELEASES = {
  flannel: { version: 'v0.28.4', verifiedOn: 'lab' },
  calico: { version: 'v3.28.5', verifiedOn: 'lab' },
  canal: { version: 'v3.28.5', verifiedOn: 'lab' },
  kilo: { version: '0.6.0', verifiedOn: 'lab' },
  cilium: { version: 'v1.20.2', verifiedOn: 'lab' },
} as const satisfies Readonly<Record<Cni, NetworkRelease>>;

/** Releases with images from a mirror, for hosts without registry access; mirrors have no images of the others. */
export const PRELOADED_NETWORK_RELEASES = {
  flannel: { version: 'v0.28.4', verifiedOn: 'real' },
} as const satisfies Readonly<Partial<Record<Cni, NetworkRelease>>>;
