import { appendFile, mkdir, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../files/real.files.js';

/** Two files of this size at most: months of an idle node, days of a busy one. */
const BYTES_MAX = 1024 * 1024;

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
};

/**
 * What the agent did, kept on the host itself; journald may keep nothing over a boot. Lines are appended in their order. A disk
 * that takes nothing more is reported once and stops nothing.
 */
export class JournalFile {
  private writing: Promise<void> = Promise.resolve();
  private size: number | undefined;
  private isBroken = false;

  constructor(
    private readonly path: string,
    private readonly onTrouble: (cause: string) => void,
    private readonly bytesMax = BYTES_MAX,
  ) {}

  add(line: string): void {
    this.writing = this.writing
      .then(() => this.append(`${line}\n`))
      .then(
        () => {
          this.isBroken = false;
        },
        (error: unknown) => this.trouble(error),
      );
  }

  /** Resolves when everything that was added is in the file, or could not be. */
  settled(): Promise<void> {
    return this.writing;
  }

  private async append(text: string): Promise<void> {
    if (this.size === undefined) await mkdir(dirname(this.path), { recursive: true });
    this.size ??= await sizeOf(this.path);
    if (this.size > 0 && this.size + Buffer.byteLength(text) > this.bytesMax) {
      await rename(this.path, `${this.path}.1`);
      this.size = 0;
    }
    await appendFile(this.path, text, { mode: 0o640 });
    this.size += Buffer.byteLength(text);
  }

  private trouble(error: unknown): void {
    this.size = undefined;
    if (this.isBroken) return;
    this.isBroken = true;
    this.onTrouble(String(error));
  }
}
