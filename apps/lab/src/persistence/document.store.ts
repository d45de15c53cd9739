import { appendFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Documents written before other work gets a turn. A synchronous write takes a fraction of the CPU time of an
 * asynchronous one.
 */
const WRITES_PER_TURN_MAX = 8;

/** A journal is rewritten when it has more than doubled and is larger than this. */
const JOURNAL_GROWTH_BYTES = 256 * 1024;

type Serialize = () => unknown;

/** A document that is written at each change, and the changes of a large part of it as journal entries. */
export interface Journaled {
  readonly document: unknown;
  readonly entries: readonly unknown[];
  /** Whether the entries are complete; otherwise they follow earlier ones. */
  readonly isWhole: boolean;
}

/** Called with `true` if the entries must be complete. */
type SerializeJournaled = (mustBeWhole: boolean) => Journaled;

interface Pending {
  readonly file: string;
  readonly write: () => void;
}

/**
 * One JSON file per document, replaced atomically shortly after a change. A burst of changes to one document costs one
 * write. Documents put less than `writeDelayMs` ago may be lost when the lab is killed; `flush`, called on shutdown,
 * writes everything. A large document has a journal to which changes are appended, so that the cost of a change does
 * not depend on the document's size.
 */
export class DocumentStore {
  private readonly pending = new Map<string, Pending>();
  /** The size of each journal after its last rewrite, by file; absent if the contents of the file are unknown. */
  private readonly journalBytes = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly writeDelayMs: number,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** All stored documents of a kind. Fails on a file that is not JSON. */
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

  /** All stored documents of a kind, with the entries of their journals, oldest first. */
  async readAllJournaled(kind: string): Promise<readonly Omit<Journaled, 'isWhole'>[]> {
    const folder = join(this.folder, kind);
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json')).sort();
    const documents = await this.readAll(kind);
    return Promise.all(
      documents.map(async (document, index) => {
        const journal = journalOf(join(folder, names[index] ?? ''));
        if (!existsSync(journal)) return { document, entries: [] };
        const lines = (await readFile(journal, 'utf8')).split('\n');
        // An incomplete last line was being written when the lab was killed.
        const entries = lines.slice(0, -1).map((line): unknown => JSON.parse(line));
        return { document, entries };
      }),
    );
  }

  /** Schedules a write of the document, which `serialize` returns at that time. */
  put(kind: string, key: string, serialize: Serialize): void {
    const file = this.fileOf(kind, key);
    this.enqueue({ file, write: () => replace(file, JSON.stringify(serialize())) });
  }

  /** Like `put`, for a document with a journal. */
  putJournaled(kind: string, key: string, serialize: SerializeJournaled): void {
    const file = this.fileOf(kind, key);
    this.enqueue({ file, write: () => this.writeJournaled(file, serialize) });
  }

  remove(kind: string, key: string): void {
    const file = this.fileOf(kind, key);
    const write = (): void => {
      this.journalBytes.delete(file);
      for (const one of [file, journalOf(file)]) rmSync(one, { force: true });
    };
    this.enqueue({ file, write });
  }

  /** Resolves once everything is on disk. Rejects if the disk fails; failed writes are retried at the next change. */
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

  /** The journal is written first, so that a document is never newer than its journal. */
  private writeJournaled(file: string, serialize: SerializeJournaled): void {
    const journal = journalOf(file);
    const startedWith = this.journalBytes.get(file);
    // Until everything below succeeds, the end of the file is unknown.
    this.journalBytes.delete(file);
    const { document, entries, isWhole } = serialize(startedWith === undefined || hasGrown(journal, startedWith));
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    if (isWhole) replace(journal, lines);
    else if (lines !== '') appendFileSync(journal, lines);
    replace(file, JSON.stringify(document));
    this.journalBytes.set(file, isWhole ? lines.length : (startedWith ?? 0));
  }

  private fileOf(kind: string, key: string): string {
    return join(this.folder, kind, fileName(key));
  }

  private enqueue(pending: Pending): void {
    this.pending.set(pending.file, pending);
    this.timer ??= setTimeout(() => void this.flush().catch(this.onFailure), this.writeDelayMs);
  }

  private async writeAll(batch: readonly Pending[]): Promise<void> {
    for (const [index, { write }] of batch.entries()) {
      if (index % WRITES_PER_TURN_MAX === 0) await nextTurn();
      write();
    }
  }
}

const replace = (file: string, text: string): void => {
  const temporary = `${file}.new`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, file);
};

const journalOf = (file: string): string => file.replace(/\.json$/, '.journal');

const hasGrown = (journal: string, startedWith: number): boolean => {
  const bytes = statSync(journal, { throwIfNoEntry: false })?.size ?? 0;
  return bytes > 2 * startedWith + JOURNAL_GROWTH_BYTES;
};

const fileName = (key: string): string => `${encodeURIComponent(key)}.json`;
