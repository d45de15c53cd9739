/**
 * The file system of a host, used by SFTP, stand-ins and units. Implemented by a folder on disk and by files in memory.
 */
export interface HostFiles {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  stat(path: string): Promise<FileStat>;
  /** Like `stat`, but does not follow a symbolic link. */
  lstat(path: string): Promise<FileStat>;
  setMode(path: string, permissions: number): Promise<void>;
  list(path: string): Promise<readonly DirectoryEntry[]>;
  makeDirectory(path: string, permissions?: number): Promise<void>;
  removeDirectory(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Replaces an existing target, like rename(2). */
  rename(from: string, to: string): Promise<void>;
  link(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** The absolute path inside the host. */
  realPath(path: string): string;

  /** Returns undefined if there is no such file. */
  readText(path: string): Promise<string | undefined>;
  /** Writes a whole file and creates its parent folders. */
  writeText(path: string, text: string, permissions?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  /**
   * Calls `onChange` when something in the folder may have changed. Returns a function that stops the watch, or
   * undefined if the folder does not exist or cannot be watched.
   */
  watch(folder: string, onChange: () => void): Promise<(() => void) | undefined>;
  /** Removes a file, or a folder with its contents. Does nothing if it does not exist. */
  removeTree(path: string): Promise<void>;
  /** Removes every file of the host. */
  destroy(): Promise<void>;
}

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'link';
  readonly size: number;
  /** The lower twelve bits of st_mode. */
  readonly permissions: number;
  readonly modifiedAtMs: number;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly stat: FileStat;
}

export interface OpenMode {
  readonly read: boolean;
  readonly write: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly truncate?: boolean;
  readonly exclusive?: boolean;
  readonly permissions?: number;
}

export interface OpenFile {
  /** Returns at most `length` bytes from `position`: fewer at the end of the file, none beyond it. */
  read(position: number, length: number): Promise<Uint8Array>;
  write(position: number, data: Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  setMode(permissions: number): Promise<void>;
  close(): Promise<void>;
}

export const FILE_PERMISSIONS = 0o644;
export const FOLDER_PERMISSIONS = 0o755;

export type FileFaultCode = 'ENOENT' | 'EEXIST' | 'EACCES' | 'ENOTDIR' | 'EISDIR' | 'ENOTEMPTY' | 'EINVAL' | 'EFBIG';

/** A failed file operation with its errno name, as node:fs would throw it. */
export class FileFault extends Error {
  constructor(
    readonly code: FileFaultCode,
    path: string,
  ) {
    super(`${code}: ${path}`);
    this.name = 'FileFault';
  }
}
