import { appendFile, mkdir, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../files/real.files.js';

/** At most two files of this size: months of an idle node, days of a busy one. */
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
 * A log of the agent's actions on the host itself, because journald may not persist logs across boots. Lines are
 * appended in order. A failed write is reported once and blocks nothing.
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

  /** Resolves when all pending lines are written, or have failed. */
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
