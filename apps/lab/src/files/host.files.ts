/** What a host's file system is to the lab: SFTP, stand-ins and units go through it; a folder on disk and files in memory both are one. */
export interface HostFiles {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  stat(path: string): Promise<FileStat>;
  /** As `stat`, but of a symbolic link itself. */
  lstat(path: string): Promise<FileStat>;
  setMode(path: string, permissions: number): Promise<void>;
  list(path: string): Promise<readonly DirectoryEntry[]>;
  makeDirectory(path: string, permissions?: number): Promise<void>;
  removeDirectory(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Replaces what is at the target, as rename(2) does. */
  rename(from: string, to: string): Promise<void>;
  link(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** The absolute path on the host, seen from inside. */
  realPath(path: string): string;

  /** The whole text; undefined when there is no such file. */
  readText(path: string): Promise<string | undefined>;
  /** Writes a whole file and makes the folders above it. */
  writeText(path: string, text: string, permissions?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Calls back when something in that folder may have changed. Answers how to end that; undefined when there is no such folder, or it cannot be watched. */
  watch(folder: string, onChange: () => void): Promise<(() => void) | undefined>;
  /** Removes a file or folder with everything in it; nothing there is fine. */
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
  /** At most `length` bytes from `position`; fewer at the end of the file, none after it. */
  read(position: number, length: number): Promise<Uint8Array>;
  write(position: number, data: Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  setMode(permissions: number): Promise<void>;
  close(): Promise<void>;
}

export const FILE_PERMISSIONS = 0o644;
export const FOLDER_PERMISSIONS = 0o755;

export type FileFaultCode = 'ENOENT' | 'EEXIST' | 'EACCES' | 'ENOTDIR' | 'EISDIR' | 'ENOTEMPTY' | 'EINVAL' | 'EFBIG';

/** A file operation that cannot be done, with errno's name, as node:fs would throw it. */
export class FileFault extends Error {
  constructor(
    readonly code: FileFaultCode,
    path: string,
  ) {
    super(`${code}: ${path}`);
    this.name = 'FileFault';
  }
}
