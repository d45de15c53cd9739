import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Documents that are written before others get a turn. A synchronous write costs a fraction of an asynchronous one's CPU time. */
const WRITES_PER_TURN_MAX = 8;

type Serialize = () => unknown;

interface Pending {
  readonly file: string;
  /** Undefined: the document goes away. */
  readonly serialize: Serialize | undefined;
}

/**
 * One JSON file per document, replaced atomically, written shortly after a change. A burst of changes to one
 * document costs one write. What was put less than `writeDelayMs` ago may be lost when the lab is killed; `flush` (called when it stops)
 * writes everything.
 */
export class DocumentStore {
  private readonly pending = new Map<string, Pending>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly writeDelayMs: number,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Every stored document of a kind. A file that is not JSON is a broken disk, and is an error. */
  async readAll(kind: string): Promise<readonly unknown[]> {
    const folder = join(this.folder, kind);
    await mkdir(folder, { recursive: true });
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    const documents: unknown[] = [];
    for (const name of names.sort()) {
      documents.push(JSON.parse(await readFile(join(folder, name), 'utf8')));
    }
    return documents;
  }

  /** Has the document written soon, as `serialize` gives it then. */
  put(kind: string, key: string, serialize: Serialize): void {
    this.enqueue({ file: join(this.folder, kind, fileName(key)), serialize });
  }

  remove(kind: string, key: string): void {
    this.enqueue({ file: join(this.folder, kind, fileName(key)), serialize: undefined });
  }

  /** Resolves when everything that was put is on disk. Rejects when the disk fails; what was not written is tried again with the next change. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending.size === 0) return this.writing;
    const batch = [...this.pending.values()];
    this.pending.clear();
    const writing = this.writing.then(() => this.writeAll(batch));
    this.writing = writing.catch(() => this.putBack(batch));
    await writing;
    if (this.pending.size > 0) await this.flush();
  }

  private putBack(batch: readonly Pending[]): void {
    for (const pending of batch) {
      if (!this.pending.has(pending.file)) this.pending.set(pending.file, pending);
    }
  }

  private enqueue(pending: Pending): void {
    this.pending.set(pending.file, pending);
    this.timer ??= setTimeout(() => void this.flush().catch(this.onFailure), this.writeDelayMs);
  }

  private async writeAll(batch: readonly Pending[]): Promise<void> {
    for (const [index, pending] of batch.entries()) {
      if (index % WRITES_PER_TURN_MAX === 0) await nextTurn();
      write(pending);
    }
  }
}

const write = ({ file, serialize }: Pending): void => {
  if (serialize === undefined) {
    rmSync(file, { force: true });
    return;
  }
  const temporary = `${file}.new`;
  writeFileSync(temporary, JSON.stringify(serialize()), { mode: 0o600 });
  renameSync(temporary, file);
};

const fileName = (key: string): string => `${encodeURIComponent(key)}.json`;
