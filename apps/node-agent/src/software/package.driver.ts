import type { SoftwareVersions } from '@fairlead/contracts';

/** An installed package. */
export interface InstalledPackage {
  /** Upstream version in the format of `SoftwareVersions`, e.g. 1.34.4. */
  readonly version: string;
  /** Whether its version is held, so that only Fairlead changes it. */
  readonly held: boolean;
}

/** Installs software from one kind of source, on one kind of host. */
export interface PackageDriver {
  /** Packages that are not installed are missing in the result. */
  installed(names: readonly string[]): Promise<ReadonlyMap<string, InstalledPackage>>;
  /** Installs exactly these versions, whether newer or older than the installed ones, and holds them. */
  install(packages: SoftwareVersions): Promise<void>;
  /**
   * Downloads and verifies everything that `install` needs, so that `install` is short and needs no network. Changes
   * nothing that runs.
   */
  stage(packages: SoftwareVersions): Promise<void>;
  /**
   * Returns the path of a verified program of that version, next to what is installed: changes nothing that runs.
   * Downloads missing packages first.
   */
  program(name: string, version: string): Promise<string>;
  /** Whether another version is acceptable because the host cannot have the desired one. Absent: never. */
  accepts?(name: string, desired: string, found: string): Promise<boolean>;
}

/** The package manager of a distribution. */
export interface Distribution extends PackageDriver {
  /** Packages with the programs that kubeadm, the kubelet and kube-proxy call on the host. */
  readonly tools: readonly string[];
  /** Whether the host's package lists offer this version. */
  offers(name: string, version: string): Promise<boolean>;
  /** Installs missing packages in any version of the distribution, without holding them. */
  require(names: readonly string[]): Promise<void>;
}
