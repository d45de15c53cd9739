import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Large contents that many light hosts share, stored once in memory and once on disk. They are kept as long as the data
 * folder.
 */
export class Blobs {
  private readonly contents = new Map<string, Buffer>();
  private readonly names = new WeakMap<Buffer, string>();
  private readonly onDisk = new Set<string>();

  constructor(private readonly folder: string) {}

  /** The shared buffer with the same content. */
  share(content: Buffer): Buffer {
    const name = this.nameOf(content);
    const shared = this.contents.get(name);
    if (shared !== undefined) return shared;
    this.contents.set(name, content);
    return content;
  }

  /** Returns undefined if no host has had this content. */
  find(name: string): Buffer | undefined {
    return this.contents.get(name);
  }

  /** Stores a content across restarts. Its name is its SHA-256 in hex. */
  keep(content: Buffer): string {
    const name = this.nameOf(content);
    if (this.onDisk.has(name)) return name;
    mkdirSync(this.folder, { recursive: true });
    const file = join(this.folder, name);
    writeFileSync(`${file}.new`, content);
    renameSync(`${file}.new`, file);
    this.onDisk.add(name);
    return name;
  }

  get(name: string): Buffer {
    const stored = this.contents.get(name);
    if (stored !== undefined) return stored;
    const content = readFileSync(join(this.folder, name));
    this.onDisk.add(name);
    this.names.set(content, name);
    this.contents.set(name, content);
    return content;
  }

  /** The SHA-256 of a content in hex, computed once for each shared buffer. */
  nameOf(content: Buffer): string {
    const stored = this.names.get(content);
    if (stored !== undefined) return stored;
    const name = createHash('sha256').update(content).digest('hex');
    this.names.set(content, name);
    return name;
  }
}
