import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import type { OwnRuntime } from '@fairlead/node-scripts';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { machine } from 'node:os';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { sha256OfFile } from './file.hash.js';

/** Every Debian has gzip. Higher levels take longer than the transfer time they save. */
const LEVEL = 4;

export interface RuntimeArchive {
  readonly content: Uint8Array;
  /** Of the archive. */
  readonly sha256: string;
}

/**
 * The Node.js binary that runs this service, for hosts without one. Read, hashed and packed at most once each, on first
 * use.
 */
export class NodeRuntime {
  private loading: Promise<OwnRuntime | null> | undefined;
  private packed: Promise<RuntimeArchive> | undefined;

  constructor(private readonly binary: string = process.execPath) {}

  /** null: this Node.js is not a single file that runs on other hosts. */
  facts(): Promise<OwnRuntime | null> {
    this.loading ??= this.read().catch((error: unknown) => {
      this.loading = undefined;
      throw this.failure(error);
    });
    return this.loading;
  }

  /** Compressed with gzip. Tens of megabytes that are kept in memory: more hosts without Node.js usually follow. */
  archive(): Promise<RuntimeArchive> {
    this.packed ??= this.pack().catch((error: unknown) => {
      this.packed = undefined;
      throw this.failure(error);
    });
    return this.packed;
  }

  private async read(): Promise<OwnRuntime | null> {
    // A Node.js built with shared libraries, as in some distributions, runs only with them.
    if ('node_shared' in process.config.variables && process.config.variables.node_shared === true) return null;
    return { sha256: await sha256OfFile(this.binary), machine: machine(), version: process.version };
  }

  private async pack(): Promise<RuntimeArchive> {
    const content = await promisify(gzip)(await readFile(this.binary), { level: LEVEL });
    return { content, sha256: createHash('sha256').update(content).digest('hex') };
  }

  private failure(error: unknown): ExternalFailure {
    const message = wordsOf(error);
    return new ExternalFailure({ operation: 'read the Node runtime', target: this.binary, message, cause: error });
  }
}
