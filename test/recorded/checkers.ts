import { spawnSync } from 'node:child_process';
import { it } from '@jest/globals';

/** Programs that check their own configurations; some are not on an ordinary PATH. */
const FOLDERS = ':/usr/local/sbin:/usr/sbin:/sbin';

export interface Checked {
  readonly code: number | null;
  /** All of its output, in lines. */
  readonly lines: readonly string[];
}

/** Runs a checker of this machine. */
export const check = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Checked => {
  const path = `${process.env['PATH'] ?? ''}${FOLDERS}`;
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env, PATH: path, LC_ALL: 'C' },
  });
  if (error !== undefined) throw error;
  return { code: status, lines: `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '') };
};

/** The version option of programs without `--version`. */
const VERSION_FLAGS: Readonly<Record<string, string>> = { haproxy: '-v', ip: '-V' };

/**
 * `it` if all of these programs are installed. Otherwise prints that on the terminal: a skip must not be mistaken for a
 * pass. A test lists each program that it runs, including those run by a fixture.
 */
export const itWith = (...programs: readonly string[]): typeof it | typeof it.skip => {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) return it;
  process.stderr.write(`\n!!! NOT CHECKED by ${missing.join(', ')}: not on this machine\n\n`);
  return it.skip;
};

/** Like `itWith`, for tests that create a network namespace, which ordinary users cannot. */
export const itInNetwork = (...programs: readonly string[]): typeof it | typeof it.skip => {
  if (!isInstalled('unshare') || check('unshare', ['--net', 'true']).code === 0) return itWith('unshare', ...programs);
  process.stderr.write(`\n!!! NOT CHECKED by ${programs.join(', ')}: this user may make no network namespace\n\n`);
  return it.skip;
};

const isInstalled = (program: string): boolean => {
  try {
    check(program, [VERSION_FLAGS[program] ?? '--version']);
    return true;
  } catch {
    return false;
  }
};
