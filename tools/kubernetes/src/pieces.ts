import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { errorCodeOf, MirrorFile } from '@fairlead/contracts';
import { digestOfFile, writeWhole } from '@fairlead/mirror';

/**
 * A part of the work that is done or not done, never half: its files are made in their own folder, moved to where they
 * belong, and then a stamp records what they are and by which recipe. What has its stamp is not built again.
 */
export interface Piece {
  /** Unique, and a file's name. */
  readonly name: string;
  readonly title: string;
  /** The folder below which the piece's files must be. */
  readonly root: string;
  /** Everything that decides what the files are. */
  readonly recipe: unknown;
  /** Writes files into `into`, at the paths that they must have below the root. */
  readonly make: (into: string, note: (text: string) => void) => Promise<void>;
}

const Stamp = z.object({ recipe: z.string(), files: z.array(MirrorFile) });
type Stamp = z.infer<typeof Stamp>;

/** What watches over the pieces' progress. */
export interface Watch {
  begin(title: string): { note(text: string): void; end(): void };
}

export class Workshop {
  constructor(
    private readonly folder: string,
    private readonly watch: Watch,
  ) {}

  /** Removes what killed builds left. */
  async open(): Promise<void> {
    await mkdir(this.making(), { recursive: true });
    for (const name of await readdir(this.making())) {
      if (!isAlive(Number(name))) await rm(join(this.making(), name), { recursive: true, force: true });
    }
  }

  /** Removes what this build did not come to finish. */
  async close(): Promise<void> {
    await rm(join(this.making(), String(process.pid)), { recursive: true, force: true });
  }

  /** The piece's files with their checksums; made now if they are not there. */
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

  /** The piece's files if all of it is there, else undefined. */
  async done(piece: Piece): Promise<readonly MirrorFile[] | undefined> {
    const stamp = await this.readStamp(piece);
    if (stamp === undefined || stamp.recipe !== recipeDigest(piece)) return undefined;
    for (const { path, size } of stamp.files) if ((await sizeOf(join(piece.root, path))) !== size) return undefined;
    return stamp.files;
  }

  /** A folder of this process for one piece's passing needs. */
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
