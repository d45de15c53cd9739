import { posix } from 'node:path';
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
import type { Blobs } from './blobs.js';

export type MemoryEntry =
  | { readonly kind: 'directory'; permissions: number; modifiedAtMs: number }
  | { readonly kind: 'file'; permissions: number; modifiedAtMs: number; content: Buffer }
  | { readonly kind: 'link'; permissions: number; modifiedAtMs: number; target: string };

type FileEntry = Extract<MemoryEntry, { kind: 'file' }>;

/** A file as stored across restarts of the lab. Large contents are shared blobs. */
export interface StoredEntry {
  readonly path: string;
  readonly kind: MemoryEntry['kind'];
  readonly permissions: number;
  readonly text?: string;
  readonly blob?: string;
  readonly target?: string;
}

const FILE_SIZE_MAX = 256 * 1024 * 1024;
/** From this size on, equal contents are stored once for all hosts: the agent's program is the same on each. */
const SHARED_SIZE_MIN = 16 * 1024;
const LINKS_FOLLOWED_MAX = 16;
/** A normalized absolute path, as nearly all are. */
const PLAIN_PATH = /^(?:\/(?!\.{0,2}(?:\/|$))[^/]+)+$/;

/** Files of a light host: a flat map from absolute path to entry. */
export class MemoryFiles implements HostFiles {
  private readonly entries = new Map<string, MemoryEntry>();
  private readonly watchers = new Set<(changed: string) => void>();

  constructor(
    private readonly blobs: Blobs,
    private readonly onChange: () => void,
  ) {
    this.entries.set('/', { kind: 'directory', permissions: FOLDER_PERMISSIONS, modifiedAtMs: 0 });
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    const target = this.follow(path);
    const existing = this.entries.get(target);
    if (existing?.kind === 'directory') throw new FileFault('EISDIR', path);
    if (existing !== undefined && mode.exclusive) throw new FileFault('EEXIST', path);
    if (existing === undefined && !mode.create) throw new FileFault('ENOENT', path);
    const file = existing?.kind === 'file' ? existing : this.createFile(target, mode.permissions ?? FILE_PERMISSIONS);
    if (mode.truncate) file.content = Buffer.alloc(0);
    return new MemoryFile(file, path, (written) => this.finish(file, target, written));
  }

  async stat(path: string): Promise<FileStat> {
    return statOf(this.get(this.follow(path), path));
  }

  async lstat(path: string): Promise<FileStat> {
    return statOf(this.get(this.realPath(path), path));
  }

  async setMode(path: string, permissions: number): Promise<void> {
    const target = this.follow(path);
    this.get(target, path).permissions = permissions;
    this.changed(target);
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const folder = this.follow(path);
    if (this.get(folder, path).kind !== 'directory') throw new FileFault('ENOTDIR', path);
    return [...this.childrenOf(folder)].map(([child, entry]) => ({ name: posix.basename(child), stat: statOf(entry) }));
  }

  async makeDirectory(path: string, permissions = FOLDER_PERMISSIONS): Promise<void> {
    const target = this.realPath(path);
    if (this.entries.has(target)) throw new FileFault('EEXIST', path);
    this.requireFolderOf(target);
    this.entries.set(target, { kind: 'directory', permissions, modifiedAtMs: Date.now() });
    this.changed(target);
  }

  async removeDirectory(path: string): Promise<void> {
    const target = this.realPath(path);
    if (this.get(target, path).kind !== 'directory') throw new FileFault('ENOTDIR', path);
    if (this.childrenOf(target).next().done !== true) throw new FileFault('ENOTEMPTY', path);
    this.entries.delete(target);
    this.changed(target);
  }

  async remove(path: string): Promise<void> {
    const target = this.realPath(path);
    if (this.get(target, path).kind === 'directory') throw new FileFault('EISDIR', path);
    this.entries.delete(target);
    this.changed(target);
  }

  async rename(from: string, to: string): Promise<void> {
    const source = this.realPath(from);
    const target = this.realPath(to);
    this.get(source, from);
    this.requireFolderOf(target);
    const moved = [...this.entries].filter(([path]) => path === source || path.startsWith(`${source}/`));
    for (const [path, entry] of moved) {
      this.entries.delete(path);
      this.entries.set(target + path.slice(source.length), entry);
    }
    this.changed(source, target);
  }

  async link(target: string, path: string): Promise<void> {
    const place = this.realPath(path);
    if (this.entries.has(place)) throw new FileFault('EEXIST', path);
    this.requireFolderOf(place);
    this.entries.set(place, { kind: 'link', permissions: 0o777, modifiedAtMs: Date.now(), target });
    this.changed(place);
  }

  async readLink(path: string): Promise<string> {
    const entry = this.get(this.realPath(path), path);
    if (entry.kind !== 'link') throw new FileFault('EINVAL', path);
    return entry.target;
  }

  realPath(path: string): string {
    return PLAIN_PATH.test(path) ? path : posix.resolve('/', path);
  }

  async readText(path: string): Promise<string | undefined> {
    const entry = this.entries.get(this.follow(path));
    return entry?.kind === 'file' ? entry.content.toString('utf8') : undefined;
  }

  /** The bytes of a file, or undefined if there is none. They are shared and must not be modified. */
  readBytes(path: string): Buffer | undefined {
    const entry = this.entries.get(this.follow(path));
    return entry?.kind === 'file' ? entry.content : undefined;
  }

  async writeText(path: string, text: string, permissions = FILE_PERMISSIONS): Promise<void> {
    const target = this.follow(path);
    this.makeFoldersAbove(target);
    const existing = this.entries.get(target);
    if (existing?.kind === 'directory') throw new FileFault('EISDIR', path);
    this.entries.set(target, { kind: 'file', permissions, modifiedAtMs: Date.now(), content: Buffer.from(text) });
    this.changed(target);
  }

  async exists(path: string): Promise<boolean> {
    return this.entries.has(this.follow(path));
  }

  async watch(folder: string, onChange: () => void): Promise<(() => void) | undefined> {
    const target = this.follow(folder);
    if (this.entries.get(target)?.kind !== 'directory') return undefined;
    const watcher = (changed: string): void => {
      if (posix.dirname(changed) === target || changed === target) onChange();
    };
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }

  async removeTree(path: string): Promise<void> {
    const target = this.realPath(path);
    if (target === '/') throw new FileFault('EACCES', path);
    for (const key of [...this.entries.keys()]) {
      if (key === target || key.startsWith(`${target}/`)) this.entries.delete(key);
    }
    this.changed(target);
  }

  async destroy(): Promise<void> {
    this.entries.clear();
  }

  store(): readonly StoredEntry[] {
    return [...this.entries].map(([path, entry]) => ({ path, ...stored(entry, this.blobs) }));
  }

  restore(entries: readonly StoredEntry[]): void {
    for (const entry of entries) this.entries.set(entry.path, restored(entry, this.blobs));
  }

  /** Writes a shared content, and creates its parent folders. */
  place(path: string, content: Buffer, permissions: number): void {
    const target = this.realPath(path);
    this.makeFoldersAbove(target);
    this.entries.set(target, { kind: 'file', permissions, modifiedAtMs: Date.now(), content });
    this.changed(target);
  }

  private changed(...paths: readonly string[]): void {
    this.onChange();
    this.watchers.forEach((watcher) => paths.forEach(watcher));
  }

  private createFile(path: string, permissions: number): FileEntry {
    this.requireFolderOf(path);
    const file = { kind: 'file' as const, permissions, modifiedAtMs: Date.now(), content: Buffer.alloc(0) };
    this.entries.set(path, file);
    return file;
  }

  private finish(file: FileEntry, path: string, written: boolean): void {
    if (!written) return;
    file.modifiedAtMs = Date.now();
    if (file.content.length >= SHARED_SIZE_MIN) file.content = this.blobs.share(file.content);
    this.changed(path);
  }

  private get(path: string, asked: string): MemoryEntry {
    const entry = this.entries.get(path);
    if (entry === undefined) throw new FileFault('ENOENT', asked);
    return entry;
  }

  private follow(path: string): string {
    let target = this.realPath(path);
    for (let followed = 0; followed < LINKS_FOLLOWED_MAX; followed += 1) {
      const entry = this.entries.get(target);
      if (entry?.kind !== 'link') return target;
      target = posix.resolve(posix.dirname(target), entry.target);
    }
    throw new FileFault('EINVAL', path);
  }

  private requireFolderOf(path: string): void {
    const folder = this.entries.get(posix.dirname(path));
    if (folder === undefined) throw new FileFault('ENOENT', path);
    if (folder.kind !== 'directory') throw new FileFault('ENOTDIR', path);
  }

  private makeFoldersAbove(path: string): void {
    const folder = posix.dirname(path);
    if (this.entries.has(folder)) return;
    this.makeFoldersAbove(folder);
    this.entries.set(folder, { kind: 'directory', permissions: FOLDER_PERMISSIONS, modifiedAtMs: Date.now() });
    this.changed(folder);
  }

  private *childrenOf(folder: string): Generator<[string, MemoryEntry]> {
    const prefix = folder === '/' ? '/' : `${folder}/`;
    for (const [path, entry] of this.entries) {
      if (path !== '/' && path.startsWith(prefix) && !path.slice(prefix.length).includes('/')) yield [path, entry];
    }
  }
}

class MemoryFile implements OpenFile {
  private written = false;
  /** Sequentially written pieces, joined when the file is otherwise used or closed. */
  private tail: Buffer[] = [];
  private size: number;

  constructor(
    private readonly file: FileEntry,
    private readonly path: string,
    private readonly onClose: (written: boolean) => void,
  ) {
    this.size = file.content.length;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    this.assemble();
    return this.file.content.subarray(position, position + length);
  }

  async write(position: number, data: Uint8Array): Promise<void> {
    const end = position + data.length;
    if (end > FILE_SIZE_MAX) throw new FileFault('EFBIG', this.path);
    this.written = true;
    if (position === this.size) {
      this.tail.push(Buffer.from(data)); // A copy: the piece may be a view of a buffer that is reused.
      this.size = end;
      return;
    }
    this.assemble();
    const content = Buffer.alloc(Math.max(this.size, end));
    this.file.content.copy(content);
    content.set(data, position);
    this.file.content = content;
    this.size = content.length;
  }

  async stat(): Promise<FileStat> {
    return { ...statOf(this.file), size: this.size };
  }

  async setMode(permissions: number): Promise<void> {
    this.file.permissions = permissions;
    this.written = true;
  }

  async close(): Promise<void> {
    this.assemble();
    this.onClose(this.written);
  }

  private assemble(): void {
    if (this.tail.length === 0) return;
    this.file.content = Buffer.concat([this.file.content, ...this.tail]);
    this.tail = [];
  }
}

const statOf = (entry: MemoryEntry): FileStat => ({
  kind: entry.kind,
  size: entry.kind === 'file' ? entry.content.length : 0,
  permissions: entry.permissions,
  modifiedAtMs: entry.modifiedAtMs,
});

const stored = (entry: MemoryEntry, blobs: Blobs): Omit<StoredEntry, 'path'> => {
  const { kind, permissions } = entry;
  switch (entry.kind) {
    case 'directory':
      return { kind, permissions };
    case 'link':
      return { kind, permissions, target: entry.target };
    case 'file':
      return entry.content.length >= SHARED_SIZE_MIN
        ? { kind, permissions, blob: blobs.keep(entry.content) }
        : { kind, permissions, text: entry.content.toString('latin1') };
  }
};

const restored = (entry: StoredEntry, blobs: Blobs): MemoryEntry => {
  const { permissions } = entry;
  const modifiedAtMs = Date.now();
  switch (entry.kind) {
    case 'directory':
      return { kind: 'directory', permissions, modifiedAtMs };
    case 'link':
      return { kind: 'link', permissions, modifiedAtMs, target: entry.target ?? '/' };
    case 'file':
      return {
        kind: 'file',
        permissions,
        modifiedAtMs,
        content: entry.blob === undefined ? Buffer.from(entry.text ?? '', 'latin1') : blobs.get(entry.blob),
      };
  }
};
