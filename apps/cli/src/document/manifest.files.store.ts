import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import { parseManifests, type SourcedManifest } from './manifest.document.js';

export interface FileOptions {
  /** Files and folders; `-` is standard input. */
  readonly file: readonly string[];
  /** Includes subfolders. */
  readonly recursive?: true;
}

const STDIN = '-';
const EXTENSIONS: readonly string[] = ['.yaml', '.yml', '.json'];
/** The limit for all folders together, in case the user named a wrong folder. */
const FILES_MAX = 1000;

/** Parses all manifests of all files, in the order of the files and of their documents; fails if there are none. */
export const readManifests = async (
  { file: named, recursive }: FileOptions,
  io: Pick<Io, 'cwd' | 'readStdin'>,
): Promise<readonly SourcedManifest[]> => {
  if (named.filter((file) => file === STDIN).length > 1) throw usageFailure('Standard input can be read only once');
  const manifests: SourcedManifest[] = [];
  for (const name of named) {
    const inFolder = name === STDIN ? undefined : await filesIn(name, io.cwd, recursive === true);
    const found: SourcedManifest[] = [];
    for (const file of inFolder ?? [name]) found.push(...(await manifestsOf(file, io)));
    if (found.length === 0)
      throw usageFailure(`${inFolder === undefined ? titleOf(name) : `Every file of ${name}`} is empty`);
    manifests.push(...found);
  }
  return manifests;
};

/** For the start of a sentence. */
export const titleOf = (file: string): string => (file === STDIN ? 'Standard input' : file);

const manifestsOf = async (file: string, io: Pick<Io, 'cwd' | 'readStdin'>): Promise<readonly SourcedManifest[]> =>
  parseManifests(await readText(file, io), titleOf(file));

/** Reads a file, or standard input. */
export const readText = (file: string, { cwd, readStdin }: Pick<Io, 'cwd' | 'readStdin'>): Promise<string> =>
  file === STDIN ? readStdin() : readable(file, readFile(resolve(cwd, file), 'utf8'));

const readable = <T>(file: string, reading: Promise<T>): Promise<T> =>
  reading.catch((error: unknown) => {
    throw usageFailure(`${file} cannot be read: ${wordsOf(error)}`);
  });

/** The manifests in a folder, sorted by name; undefined if it is not a folder. */
const filesIn = async (name: string, cwd: string, recursive: boolean): Promise<readonly string[] | undefined> => {
  if (!(await readable(name, stat(resolve(cwd, name)))).isDirectory()) return undefined;
  const files: string[] = [];
  await collect(name, { cwd, recursive, files });
  if (files.length === 0)
    throw usageFailure(
      `There is no manifest in ${name}`,
      `A folder is read for files that end with ${EXTENSIONS.join(', ')}${recursive ? '' : '; -R reads the folders in it, too'}.`,
    );
  return files;
};

interface Collection {
  readonly cwd: string;
  readonly recursive: boolean;
  readonly files: string[];
}

/** Does not follow links to folders, so that it terminates. */
const collect = async (folder: string, collection: Collection): Promise<void> => {
  const { cwd, recursive, files } = collection;
  const entries = await readable(folder, readdir(resolve(cwd, folder), { withFileTypes: true }));
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (recursive) await collect(path, collection);
    } else if (EXTENSIONS.includes(extname(entry.name))) files.push(path);
    if (files.length > FILES_MAX) throw usageFailure(`${folder} holds more than ${FILES_MAX} manifests`);
  }
};
