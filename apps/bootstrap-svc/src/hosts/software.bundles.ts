import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { bundleSigner } from '@fairlead/mirror';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sha256OfFile } from './file.hash.js';

/** An archive in a connection. */
export interface NamedBundle {
  readonly path: string;
  readonly sha256: string;
  /** Absent: its checksum in the connection is enough. */
  readonly signedBy?: readonly string[];
}

const failure = (target: string, message: string, cause?: unknown): ExternalFailure =>
  new ExternalFailure({ operation: 'read the software bundle', target, message, retryable: false, cause });

/**
 * The archives of one folder. A connection cannot refer to a file outside it, and no archive is sent with another
 * checksum or without the required signature.
 */
export class SoftwareBundles {
  private readonly hashes = new Map<string, Promise<string>>();

  constructor(private readonly folder: string | undefined) {}

  /**
   * The archive's file, which has the checksum. Rejects with ExternalFailure, which never reveals the content of the file.
   */
  async file({ path, sha256, signedBy }: NamedBundle): Promise<string> {
    const name = basename(path);
    if (this.folder === undefined)
      throw failure(name, 'this bootstrap-svc has no folder of bundles (SOFTWARE_BUNDLES)');
    const file = await this.find(this.folder, name);
    if ((await this.hashOf(file)) !== sha256)
      throw failure(name, `the archive in the folder of bundles has another checksum than ${sha256}`);
    if (signedBy !== undefined) await this.refuseUnsigned(name, file, { sha256, signedBy });
    return file;
  }

  private async refuseUnsigned(
    name: string,
    file: string,
    { sha256, signedBy }: { readonly sha256: string; readonly signedBy: readonly string[] },
  ): Promise<void> {
    try {
      await bundleSigner(file, sha256, signedBy);
    } catch (error) {
      throw failure(name, wordsOf(error), error);
    }
  }

  private async find(folder: string, name: string): Promise<string> {
    try {
      const [at, file] = await Promise.all([realpath(folder), realpath(join(folder, name))]);
      if (dirname(file) === at && (await stat(file)).isFile()) return file;
    } catch (error) {
      throw failure(name, `there is no such archive in the folder of bundles: ${wordsOf(error)}`, error);
    }
    throw failure(name, 'it is no file of the folder of bundles itself');
  }

  /** Many hosts have the same archive: it is read again only if it has changed. */
  private async hashOf(file: string): Promise<string> {
    const { size, mtimeMs } = await stat(file);
    const key = `${file} ${size} ${mtimeMs}`;
    const hash = this.hashes.get(key) ?? sha256OfFile(file);
    this.hashes.set(key, hash);
    hash.catch(() => this.hashes.delete(key));
    return hash;
  }
}
