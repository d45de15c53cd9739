import type { Addon, AddonSecretValues } from '@fairlead/contracts';
import type { KubernetesCluster } from '../kubernetes/kubernetes.ports.js';

/** Where a release belongs, and how its cluster is reached. */
export interface ReleaseAt {
  readonly name: string;
  readonly namespace: string;
  /** Written by Fairlead from checked fields. */
  readonly kubeconfig: string;
  readonly api: Pick<KubernetesCluster, 'apply' | 'configMap' | 'deleteObjects' | 'differences' | 'placed'>;
}

/** What the cluster has of a release. */
export interface ReleaseStatus {
  readonly revision: number;
  /** deployed, failed, pending-install and others, in the words of Helm. */
  readonly status: string;
}

/** A chart as the archive that was declared, or objects as they are. */
export type ReleaseSource =
  | { readonly kind: 'archive'; readonly bytes: Uint8Array; readonly version: string }
  | { readonly kind: 'manifests'; readonly manifests: NonNullable<Addon['manifests']>; readonly version: string };

export interface DesiredRelease {
  readonly source: ReleaseSource;
  readonly values: NonNullable<Addon['values']>;
  /** Which events set the sealed ones of them, by their names. */
  readonly setBy: Readonly<Record<string, string>>;
  /** Texts that may be in no message. */
  readonly sealed: readonly string[];
  /** Until its pods are Ready. */
  readonly waits: boolean;
}

/** Something that makes releases, one command at a time. Each rejects with WorldFailure. */
export interface ReleaseEngine {
  /** undefined: there is no such release. */
  status(at: ReleaseAt, signal: AbortSignal): Promise<ReleaseStatus | undefined>;
  /** Whether what is desired differs from the deployed revision. */
  differs(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<boolean>;
  /** Installs or upgrades. */
  deploy(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<void>;
  /** To the last revision that was deployed; of one that never was, what is there is uninstalled. */
  recover(at: ReleaseAt, signal: AbortSignal): Promise<void>;
  /** There may be none. */
  uninstall(at: ReleaseAt, signal: AbortSignal): Promise<void>;
  /** Objects of the deployed revision that were deleted or changed by others; empty: none. */
  drift(at: ReleaseAt, manifests: NonNullable<Addon['manifests']>, signal: AbortSignal): Promise<readonly string[]>;
}

/** Charts by Helm, and objects as they are by server-side apply. */
export interface ReleaseEngines {
  readonly charts: ReleaseEngine;
  readonly manifests: ReleaseEngine;
}

export interface RepositoryCredentials {
  readonly username: string;
  readonly password: string;
}

/** A chart that a manifest names by its repository. */
export interface NamedChart extends Omit<NonNullable<Addon['chart']>, 'credentialsSecretName'> {
  readonly version: string;
  /** undefined: it needs none. */
  readonly credentials: RepositoryCredentials | undefined;
}

/** Archives of charts. Each rejects with WorldFailure. */
export interface ChartArchives {
  /** The archive, with the digest that the catalogue recorded. */
  ofApplication(application: string, version: string, signal: AbortSignal): Promise<Uint8Array>;
  /** The archive, with the digest that the repository states. */
  ofRepository(chart: NamedChart, signal: AbortSignal): Promise<Uint8Array>;
}

/** Values of a namespace that are sealed. */
export interface SealedValues {
  /** undefined: the namespace has no such secret. */
  get(namespace: string, name: string): Promise<SealedSecret | undefined>;
}

export interface SealedSecret {
  /** The event that set them. */
  readonly setBy: string;
  readonly values: AddonSecretValues;
}
