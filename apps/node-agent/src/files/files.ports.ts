import type { HostProxy } from '@fairlead/contracts';
/** Metadata of a file, read without its contents. */
export interface FileStat {
  /** Changes whenever the contents may have changed. */
  readonly identity: string;
  readonly size: number;
  /** The time of the last modification, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Files of the host that are too large for memory. Paths are absolute, as on a real host. */
export interface HostFiles {
  /** The path to pass to commands of this host. */
  at(path: string): string;
  /** Returns undefined if there is no such file. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Lowercase hex. */
  sha256(path: string): Promise<string>;
  /** Creates missing folders, shares blocks if the file system supports it, and resolves once the copy is on disk. */
  copy(from: string, to: string, mode: number): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** The names in a folder; empty if it does not exist. */
  list(folder: string): Promise<readonly string[]>;
  /** Removes a file, or a folder with its contents. Does nothing if it does not exist. */
  remove(path: string): Promise<void>;
}

/**
 * A source of software. Paths are relative to it. Methods reject with a ExternalFailure that contains the full address.
 */
export interface SourceFiles {
  /** The full address of a path, for messages. */
  address(path: string): string;
  /** Returns a small file, or undefined if the source does not have it. */
  text(path: string): Promise<string | undefined>;
  /**
   * Writes the file to `to` on the host and returns the SHA-256 of the written data. Resolves once the file is on disk.
   */
  get(path: string, to: string, mode: number): Promise<string>;
  /** The path at which the host can read the file without a download, or undefined. */
  inPlace(path: string): string | undefined;
}

/** Opens the source at a URL, or in a folder of the host. */
export type OpenSource = (location: string, files: HostFiles, proxy?: HostProxy) => SourceFiles;
