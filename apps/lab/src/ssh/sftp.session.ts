import { errorCodeOf } from '@fairlead/contracts';
import ssh2, { type Attributes, type SFTPWrapper } from 'ssh2';
import {
  FILE_PERMISSIONS,
  FOLDER_PERMISSIONS,
  type DirectoryEntry,
  type FileStat,
  type HostFiles,
  type OpenFile,
} from '../files/host.files.js';

const { STATUS_CODE, OPEN_MODE } = ssh2.utils.sftp;

const HANDLES_MAX = 256;
const READ_LENGTH_MAX = 256 * 1024;
const S_IFDIR = 0o040000;
const S_IFREG = 0o100000;
const S_IFLNK = 0o120000;
const TYPE_BITS: Readonly<Record<FileStat['kind'], number>> = { directory: S_IFDIR, file: S_IFREG, link: S_IFLNK };

interface OpenFolder {
  readonly entries: readonly DirectoryEntry[];
  listed: boolean;
}

/** Serves SFTP (protocol version 3) for the files of one host. Requests of one connection are answered in order. */
export const serveSftp = (sftp: SFTPWrapper, files: HostFiles): void => {
  new SftpSession(sftp, files).listen();
};

class SftpSession {
  private readonly openFiles = new Map<number, OpenFile>();
  private readonly openFolders = new Map<number, OpenFolder>();
  private nextHandle = 0;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly sftp: SFTPWrapper,
    private readonly files: HostFiles,
  ) {}

  listen(): void {
    this.listenToHandles();
    this.listenToPaths();
    this.sftp.on('error', () => this.sftp.end());
    this.sftp.once('close', () => void this.closeAll());
  }

  private listenToHandles(): void {
    const { sftp, files } = this;
    sftp.on('OPEN', (id, path, flags, attributes) =>
      this.serve(id, async () => {
        const file = await files.open(path, {
          read: (flags & OPEN_MODE.READ) !== 0,
          write: (flags & OPEN_MODE.WRITE) !== 0,
          append: (flags & OPEN_MODE.APPEND) !== 0,
          create: (flags & OPEN_MODE.CREAT) !== 0,
          truncate: (flags & OPEN_MODE.TRUNC) !== 0,
          exclusive: (flags & OPEN_MODE.EXCL) !== 0,
          permissions: permissionsOf(attributes) ?? FILE_PERMISSIONS,
        });
        sftp.handle(id, this.keep(this.openFiles, file));
      }),
    );
    sftp.on('READ', (id, handle, offset, length) =>
      this.serve(id, async () => {
        const data = await this.file(handle).read(offset, Math.min(length, READ_LENGTH_MAX));
        if (data.length === 0) sftp.status(id, STATUS_CODE.EOF);
        else sftp.data(id, Buffer.from(data));
      }),
    );
    sftp.on('WRITE', (id, handle, offset, data) => this.serveOk(id, () => this.file(handle).write(offset, data)));
    sftp.on('FSTAT', (id, handle) =>
      this.serve(id, async () => sftp.attrs(id, attributesOf(await this.file(handle).stat()))),
    );
    sftp.on('FSETSTAT', (id, handle, attributes) =>
      this.serveOk(id, async () => {
        const permissions = permissionsOf(attributes);
        if (permissions !== undefined) await this.file(handle).setMode(permissions);
      }),
    );
    sftp.on('CLOSE', (id, handle) => this.serveOk(id, () => this.close(handle)));
    sftp.on('OPENDIR', (id, path) =>
      this.serve(id, async () => {
        sftp.handle(id, this.keep(this.openFolders, { entries: await files.list(path), listed: false }));
      }),
    );
    sftp.on('READDIR', (id, handle) =>
      this.serve(id, async () => {
        const folder = this.openFolders.get(handle.readUInt32BE(0));
        if (folder === undefined || folder.listed) sftp.status(id, STATUS_CODE.EOF);
        else {
          folder.listed = true;
          sftp.name(
            id,
            folder.entries.map(({ name, stat }) => ({ filename: name, longname: name, attrs: attributesOf(stat) })),
          );
        }
      }),
    );
  }

  private listenToPaths(): void {
    const { sftp, files } = this;
    sftp.on('STAT', (id, path) => this.serve(id, async () => sftp.attrs(id, attributesOf(await files.stat(path)))));
    sftp.on('LSTAT', (id, path) => this.serve(id, async () => sftp.attrs(id, attributesOf(await files.lstat(path)))));
    sftp.on('SETSTAT', (id, path, attributes) =>
      this.serveOk(id, async () => {
        const permissions = permissionsOf(attributes);
        if (permissions !== undefined) await files.setMode(path, permissions);
      }),
    );
    sftp.on('REMOVE', (id, path) => this.serveOk(id, () => files.remove(path)));
    sftp.on('RMDIR', (id, path) => this.serveOk(id, () => files.removeDirectory(path)));
    sftp.on('MKDIR', (id, path, attributes) =>
      this.serveOk(id, () => files.makeDirectory(path, permissionsOf(attributes) ?? FOLDER_PERMISSIONS)),
    );
    sftp.on('RENAME', (id, from, to) => this.serveOk(id, () => files.rename(from, to)));
    sftp.on('SYMLINK', (id, target, path) => this.serveOk(id, () => files.link(target, path)));
    sftp.on('READLINK', (id, path) =>
      this.serve(id, async () => {
        const target = await files.readLink(path);
        sftp.name(id, [{ filename: target, longname: target, attrs: NO_ATTRIBUTES }]);
      }),
    );
    sftp.on('REALPATH', (id, path) =>
      this.serve(id, async () => {
        const real = files.realPath(path);
        sftp.name(id, [{ filename: real, longname: real, attrs: NO_ATTRIBUTES }]);
      }),
    );
  }

  private serveOk(id: number, work: () => Promise<void>): void {
    this.serve(id, async () => {
      await work();
      this.sftp.status(id, STATUS_CODE.OK);
    });
  }

  private serve(id: number, work: () => Promise<void>): void {
    this.queue = this.queue.then(work).catch((error: unknown) => {
      const status = STATUS_OF_FAULT[errorCodeOf(error) ?? ''];
      // OpenSSH's own words: clients compare them.
      if (status === STATUS_CODE.NO_SUCH_FILE) this.sftp.status(id, status, 'No such file');
      else if (status === STATUS_CODE.PERMISSION_DENIED) this.sftp.status(id, status, 'Permission denied');
      else this.sftp.status(id, STATUS_CODE.FAILURE, 'Failure');
    });
  }

  private keep<T>(handles: Map<number, T>, value: T): Buffer {
    if (this.openFiles.size + this.openFolders.size >= HANDLES_MAX) throw new Error('too many open files');
    const number = this.nextHandle;
    this.nextHandle += 1;
    handles.set(number, value);
    const handle = Buffer.alloc(4);
    handle.writeUInt32BE(number);
    return handle;
  }

  private file(handle: Buffer): OpenFile {
    const file = this.openFiles.get(handle.readUInt32BE(0));
    if (file === undefined) throw new Error('no such handle');
    return file;
  }

  private async close(handle: Buffer): Promise<void> {
    const number = handle.readUInt32BE(0);
    this.openFolders.delete(number);
    const file = this.openFiles.get(number);
    this.openFiles.delete(number);
    await file?.close();
  }

  private async closeAll(): Promise<void> {
    const files = [...this.openFiles.values()];
    this.openFiles.clear();
    await this.queue;
    await Promise.allSettled(files.map((file) => file.close()));
  }
}

const STATUS_OF_FAULT: Readonly<Record<string, number>> = {
  ENOENT: STATUS_CODE.NO_SUCH_FILE,
  ENOTDIR: STATUS_CODE.NO_SUCH_FILE,
  EACCES: STATUS_CODE.PERMISSION_DENIED,
  EPERM: STATUS_CODE.PERMISSION_DENIED,
};

const attributesOf = (stat: FileStat): Attributes => {
  const seconds = Math.floor(stat.modifiedAtMs / 1_000);
  return {
    mode: TYPE_BITS[stat.kind] | stat.permissions,
    uid: 0,
    gid: 0,
    size: stat.size,
    atime: seconds,
    mtime: seconds,
  };
};

const NO_ATTRIBUTES: Attributes = { mode: 0, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 };

const PERMISSION_BITS = 0o7777;

const permissionsOf = (attributes: Partial<Attributes>): number | undefined =>
  attributes.mode === undefined ? undefined : attributes.mode & PERMISSION_BITS;
