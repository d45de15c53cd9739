import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { errorCodeOf, MirrorFile } from '@fairlead/contracts';
import { digestOfFile, writeWhole } from '@fairlead/mirror';

/**
 * An atomic part of a build: its files are written to a temporary folder and moved to their destination, then a stamp
 * records the files and the recipe. A piece with a valid stamp is not built again.
 */
export interface Piece {
  /** Unique; also a file name. */
  readonly name: string;
  readonly title: string;
  /** The folder that contains the piece's files. */
  readonly root: string;
  /** All inputs that determine the files. */
  readonly recipe: unknown;
  /** Writes the files to `into`, at their paths relative to the root. */
  readonly make: (into: string, note: (text: string) => void) => Promise<void>;
}

const Stamp = z.object({ recipe: z.string(), files: z.array(MirrorFile) });
type Stamp = z.infer<typeof Stamp>;

/** Receives the progress of pieces. */
export interface Watch {
  begin(title: string): { note(text: string): void; end(): void };
}

export class Workshop {
  constructor(
    private readonly folder: string,
    private readonly watch: Watch,
  ) {}

  /** Removes the remains of killed builds. */
  async open(): Promise<void> {
    await mkdir(this.making(), { recursive: true });
    for (const name of await readdir(this.making())) {
      if (!isAlive(Number(name))) await rm(join(this.making(), name), { recursive: true, force: true });
    }
  }

  /** Removes the unfinished pieces of this build. */
  async close(): Promise<void> {
    await rm(join(this.making(), String(process.pid)), { recursive: true, force: true });
  }

  /** The files of the piece with their checksums; builds the piece if necessary. */
  async ensure(piece: Piece): Promise<readonly MirrorFile[]> {
    const done = await this.done(piece);
    if (done !== undefined) return done;
    const scratch = this.scratch(piece.name);
    const step = this.watch.begin(piece.title);
    const into = join(scratch, 'files');
    await rm(scratch, { recursive: true, force: true });
    await mkdir(into, { recursive: true });
    await piece.make(into, (text) => step.note(text));
    step.note('checksums');
    const files = await describe(into);
    for (const { path } of files) {
      await mkdir(dirname(join(piece.root, path)), { recursive: true });
      await rename(join(into, path), join(piece.root, path));
    }
    const stamp: Stamp = { recipe: recipeDigest(piece), files };
    await mkdir(dirname(this.stampOf(piece)), { recursive: true });
    await writeWhole(this.stampOf(piece), `${JSON.stringify(stamp, undefined, 1)}\n`);
    await rm(scratch, { recursive: true, force: true });
    step.end();
    return files;
  }

  /** The files of the piece if it is complete, otherwise undefined. */
  async done(piece: Piece): Promise<readonly MirrorFile[] | undefined> {
    const stamp = await this.readStamp(piece);
    if (stamp === undefined || stamp.recipe !== recipeDigest(piece)) return undefined;
    for (const { path, size } of stamp.files) if ((await sizeOf(join(piece.root, path))) !== size) return undefined;
    return stamp.files;
  }

  /** A temporary folder of this process for one piece. */
  scratch(name: string): string {
    return join(this.making(), String(process.pid), name);
  }

  private making(): string {
    return join(this.folder, 'making');
  }

  private stampOf({ name }: Piece): string {
    return join(this.folder, 'done', `${name}.json`);
  }

  private async readStamp(piece: Piece): Promise<Stamp | undefined> {
    const text = await readIfAny(this.stampOf(piece));
    return text === undefined ? undefined : Stamp.safeParse(JSON.parse(text)).data;
  }
}

const recipeDigest = ({ recipe }: Piece): string => createHash('sha256').update(JSON.stringify(recipe)).digest('hex');

const describe = async (folder: string): Promise<MirrorFile[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const files: MirrorFile[] = [];
  for (const path of paths.sort()) files.push({ path, ...(await digestOfFile(join(folder, path))) });
  return files;
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCodeOf(error) === 'EPERM';
  }
};

const readIfAny = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

const sizeOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
