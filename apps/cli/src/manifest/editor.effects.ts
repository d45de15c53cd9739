import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';

/** An edited text, in a file that exists until `discard`, so that no edits are lost if the server refuses them. */
export interface Edited {
  readonly text: string;
  readonly file: string;
  discard(): Promise<void>;
}

/** May contain arguments: `code --wait`. */
const editorOf = ({ env }: Io): readonly string[] =>
  (env['VISUAL'] ?? env['EDITOR'] ?? 'vi').split(/\s+/).filter((word) => word !== '');

const run = (program: string, args: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(signal === null ? `it ended with ${code}` : `it ended by ${signal}`)),
    );
  });

/** Opens the text in the user's editor (VISUAL, EDITOR, otherwise vi) and returns the saved text. */
export const edit = async (io: Io, name: string, text: string): Promise<Edited> => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-edit-'));
  const file = join(folder, name);
  const discard = (): Promise<void> => rm(folder, { recursive: true, force: true });
  await writeFile(file, text, { mode: 0o600 });
  const [program = 'vi', ...args] = editorOf(io);
  try {
    await run(program, [...args, file]);
  } catch (error) {
    await discard();
    throw new CliFailure('failed', {
      code: 'cli.editor-failed',
      message: `The editor ${program} failed: ${wordsOf(error)}`,
      help: 'Set EDITOR to another one.',
      cause: error,
    });
  }
  return { text: await readFile(file, 'utf8'), file, discard };
};
