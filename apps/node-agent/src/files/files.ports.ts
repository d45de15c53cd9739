import type { HostProxy } from '@fairlead/contracts';
/** What the file system reports of a file without reading it. */
export interface FileStat {
  /** Another text whenever the content may be another one. */
  readonly identity: string;
  readonly size: number;
  /** When its content was changed last, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Files of the host that are too large for memory. Paths are absolute as on a real host. */
export interface HostFiles {
  /** The path as a command of this host must be given it. */
  at(path: string): string;
  /** undefined: there is no such file. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Lowercase hex. */
  sha256(path: string): Promise<string>;
  /** Into folders that are made where they are missing; shares blocks where the file system can; on the disk when it resolves. */
  copy(from: string, to: string, mode: number): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** Names of what is in a folder; empty where there is none. */
  list(folder: string): Promise<readonly string[]>;
  /** A file, or a folder with all that is in it; nothing happens where there is none. */
  remove(path: string): Promise<void>;
}

/** One place where software comes from. Paths are relative to it. Methods reject with WorldFailure that names the whole place. */
export interface SourceFiles {
  /** The whole address of a path, for people. */
  address(path: string): string;
  /** A small file. undefined: the source has none. */
  text(path: string): Promise<string | undefined>;
  /** Writes the file to `to` on the host, on the disk when it resolves, and answers with the SHA-256 of what was written. */
  get(path: string, to: string, mode: number): Promise<string>;
  /** Where the host can read the file without getting it first; undefined: nowhere. */
  inPlace(path: string): string | undefined;
}

/** The place at a URL, or in a folder of the host. */
export type OpenSource = (location: string, files: HostFiles, proxy?: HostProxy) => SourceFiles;
