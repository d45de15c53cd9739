import type { Addon } from '@fairlead/contracts';

/** Where a release belongs, and as whom the cluster is reached. */
export interface ReleaseAt {
  readonly name: string;
  readonly namespace: string;
  /** Written by Fairlead from checked fields. */
  readonly kubeconfig: string;
}

/** What Helm has of a release. */
export interface ReleaseStatus {
  readonly revision: number;
  /** deployed, failed, pending-install and others, in the words of Helm. */
  readonly status: string;
}

/** A chart as the archive that the catalogue vouches for, or objects that become one. */
export type ChartSource =
  | { readonly kind: 'archive'; readonly bytes: Uint8Array; readonly version: string }
  | { readonly kind: 'manifests'; readonly manifests: NonNullable<Addon['manifests']>; readonly version: string };

export interface DesiredRelease {
  readonly chart: ChartSource;
  readonly values: NonNullable<Addon['values']>;
  /** Until its pods are Ready. */
  readonly waits: boolean;
}

/** Helm, one command at a time. Each rejects with WorldFailure in the words of Helm. */
export interface HelmReleases {
  /** undefined: there is no such release. */
  status(at: ReleaseAt, signal: AbortSignal): Promise<ReleaseStatus | undefined>;
  /** Whether what the chart renders differs from the deployed revision. */
  differs(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<boolean>;
  /** Installs or upgrades. */
  deploy(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<void>;
  /** To the last revision that was deployed; of one that never was, what is there is uninstalled. */
  recover(at: ReleaseAt, status: ReleaseStatus, signal: AbortSignal): Promise<void>;
  /** There may be none. */
  uninstall(at: ReleaseAt, signal: AbortSignal): Promise<void>;
  /** The objects of the deployed revision, as YAML documents. */
  manifest(at: ReleaseAt, signal: AbortSignal): Promise<string>;
}

/** Archives of the catalogue's charts. */
export interface ChartArchives {
  /** The archive, with the digest that the catalogue recorded. Rejects with WorldFailure. */
  get(application: string, version: string, signal: AbortSignal): Promise<Uint8Array>;
}
