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
}
