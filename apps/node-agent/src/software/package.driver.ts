import type { SoftwareVersions } from '@fairlead/contracts';

/** A package as it is on the host. */
export interface InstalledPackage {
  /** Upstream version as `SoftwareVersions` writes it, e.g. 1.34.4. */
  readonly version: string;
  /** Nothing but Fairlead changes its version. */
  readonly held: boolean;
}

/** Where software comes from and how it gets onto the host. One for each kind of host or source. */
export interface PackageDriver {
  /** Packages that are not installed are missing from the answer. */
  installed(names: readonly string[]): Promise<ReadonlyMap<string, InstalledPackage>>;
  /** Installs exactly these versions, newer or older than what is there, and holds them. */
  install(packages: SoftwareVersions): Promise<void>;
  /** Brings what `install` needs onto the host and verifies it, so that `install` is short and needs no network. Changes nothing that runs. */
  stage(packages: SoftwareVersions): Promise<void>;
  /**
   * How a program of that version is called where it lies verified, beside what is installed: changes nothing that runs. Packages are fetched
   * first where they are missing.
   */
  program(name: string, version: string): Promise<string>;
  /** Is this other version as good as the desired one, because the host can have no other? Absent: never. */
  accepts?(name: string, desired: string, found: string): Promise<boolean>;
}

/** The package manager of a distribution. */
export interface Distribution extends PackageDriver {
  /** Packages with the programs that kubeadm, the kubelet and kube-proxy call on the host. */
  readonly tools: readonly string[];
  /** Whether the host's package lists offer this version. */
  offers(name: string, version: string): Promise<boolean>;
  /** Installs what is missing, in whatever version the distribution has; holds nothing. */
  require(names: readonly string[]): Promise<void>;
}
