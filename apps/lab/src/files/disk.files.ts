import { errorCodeOf } from '@fairlead/contracts';
import { watch, type Stats } from 'node:fs';
import {
  chmod,
  constants,
  lstat,
  mkdir,
  open,
  readFile,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  unlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join, posix, sep } from 'node:path';
import {
  FILE_PERMISSIONS,
  FOLDER_PERMISSIONS,
  FileFault,
  type DirectoryEntry,
  type FileStat,
  type HostFiles,
  type OpenFile,
  type OpenMode,
} from './host.files.js';

const PERMISSION_BITS = 0o7777;
/** The kernel's watch limits are reached. */
const UNWATCHABLE: ReadonlySet<string> = new Set(['ENOSPC', 'EMFILE']);

/**
 * Files of a host in its own folder. All paths are confined to the host: `..` stops at its root, and a symbolic link
 * that points outside is refused. A path that already begins with the root (as scripts on the host write it) is the
 * same file.
 */
export class DiskFiles implements HostFiles {
  private constructor(readonly root: string) {}

  /** Creates `root` if it does not exist. */
  static async at(root: string): Promise<DiskFiles> {
    await mkdir(root, { recursive: true, mode: FOLDER_PERMISSIONS });
    return new DiskFiles(await realpath(root));
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    const file = await this.resolve(path);
    const handle = await open(file, flagsOf(mode), mode.permissions ?? FILE_PERMISSIONS);
    return new DiskFile(handle);
  }

  async stat(path: string): Promise<FileStat> {
    return statOf(await stat(await this.resolve(path)));
  }

  async lstat(path: string): Promise<FileStat> {
    return statOf(await lstat(await this.resolveEntry(path)));
  }

  async setMode(path: string, permissions: number): Promise<void> {
    await chmod(await this.resolve(path), permissions & PERMISSION_BITS);
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const folder = await this.resolve(path);
    const names = await readdir(folder);
    return Promise.all(names.map(async (name) => ({ name, stat: statOf(await lstat(join(folder, name))) })));
  }

  async makeDirectory(path: string, permissions = FOLDER_PERMISSIONS): Promise<void> {
    await mkdir(await this.resolve(path), { mode: permissions });
  }

  async removeDirectory(path: string): Promise<void> {
    await rmdir(await this.resolveEntry(path));
  }

  async remove(path: string): Promise<void> {
    await unlink(await this.resolveEntry(path));
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(await this.resolveEntry(from), await this.resolveEntry(to));
  }

  async link(target: string, path: string): Promise<void> {
    await symlink(target, await this.resolveEntry(path));
  }

  async readLink(path: string): Promise<string> {
    return readlink(await this.resolveEntry(path));
  }

  realPath(path: string): string {
    return this.inside(path);
  }

  async readText(path: string): Promise<string | undefined> {
    try {
      return await readFile(await this.resolve(path), 'utf8');
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async writeText(path: string, text: string, permissions = FILE_PERMISSIONS): Promise<void> {
    await mkdir(join(this.root, dirname(this.inside(path))), { recursive: true, mode: FOLDER_PERMISSIONS });
    const file = await this.resolve(path);
    await writeFile(file, text, { mode: permissions });
    await chmod(file, permissions);
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      if (isAbsence(error)) return false;
      throw error;
    }
  }

  async watch(folder: string, onChange: () => void): Promise<(() => void) | undefined> {
    try {
      const watcher = watch(await this.resolve(folder), { persistent: false }, onChange);
      watcher.on('error', onChange);
      return () => watcher.close();
    } catch (error) {
      if (isAbsence(error) || UNWATCHABLE.has(errorCodeOf(error) ?? '')) return undefined;
      throw error;
    }
  }

  async removeTree(path: string): Promise<void> {
    if (this.inside(path) === '/') throw new FileFault('EACCES', path);
    try {
      await rm(await this.resolveEntry(path), { recursive: true, force: true });
    } catch (error) {
      if (!isAbsence(error)) throw error; // A parent folder is missing, or is a file.
    }
  }

  async destroy(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }

  /** The absolute, normalized path inside the host. */
  private inside(path: string): string {
    const withoutRoot = path === this.root || path.startsWith(this.root + sep) ? path.slice(this.root.length) : path;
    return posix.resolve('/', withoutRoot);
  }

  /** The real path, with all links followed. */
  private async resolve(path: string): Promise<string> {
    const desired = join(this.root, this.inside(path));
    try {
      return this.confined(await realpath(desired), path);
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
      // A link whose target is missing would let a file be made outside: only what is really absent may be made.
      if (await isLink(desired)) throw new FileFault('EACCES', path);
      return this.resolveEntry(path);
    }
  }

  /** The directory entry itself: links in parent folders are followed, a link in the last component is not. */
  private async resolveEntry(path: string): Promise<string> {
    const inside = this.inside(path);
    if (inside === '/') return this.root;
    const folder = await realpath(join(this.root, dirname(inside)));
    return join(this.confined(folder, path), posix.basename(inside));
  }

  private confined(real: string, path: string): string {
    if (real === this.root || real.startsWith(this.root + sep)) return real;
    throw new FileFault('EACCES', path);
  }
}

class DiskFile implements OpenFile {
  constructor(private readonly handle: FileHandle) {}

  async read(position: number, length: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await this.handle.read(buffer, 0, length, position);
    return buffer.subarray(0, bytesRead);
  }

  async write(position: number, data: Uint8Array): Promise<void> {
    await this.handle.write(data, 0, data.length, position);
  }

  async stat(): Promise<FileStat> {
    return statOf(await this.handle.stat());
  }

  async setMode(permissions: number): Promise<void> {
    await this.handle.chmod(permissions & PERMISSION_BITS);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

const flagsOf = (mode: OpenMode): number => {
  const access = mode.write ? (mode.read ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY;
  return (
    access |
    (mode.append ? constants.O_APPEND : 0) |
    (mode.create ? constants.O_CREAT : 0) |
    (mode.truncate ? constants.O_TRUNC : 0) |
    (mode.exclusive ? constants.O_EXCL : 0)
  );
};

const statOf = (stats: Stats): FileStat => ({
  kind: stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'file',
  size: stats.size,
  permissions: stats.mode & PERMISSION_BITS,
  modifiedAtMs: stats.mtimeMs,
});

const isLink = async (path: string): Promise<boolean> => {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
};

const isAbsence = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error) ?? '');
