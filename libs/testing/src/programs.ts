import { spawnSync } from 'node:child_process';
import { describe, it } from '@jest/globals';

/** Some programs are not on an ordinary PATH. */
const FOLDERS = ':/usr/local/sbin:/usr/sbin:/sbin';

export interface Checked {
  readonly code: number | null;
  /** All of its output, in lines. */
  readonly lines: readonly string[];
}

/** Runs a program of this machine to its end, for example one that checks a configuration. */
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
const VERSION_FLAGS: Readonly<Record<string, string>> = { haproxy: '-v', ip: '-V', ssh: '-V', openssl: 'version' };

const isInstalled = (program: string): boolean => {
  try {
    check(program, [VERSION_FLAGS[program] ?? '--version']);
    return true;
  } catch {
    return false;
  }
};

/** Whether all of these programs are installed. Otherwise prints that: a skip must not be mistaken for a pass. */
const isChecked = (programs: readonly string[]): boolean => {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length > 0) process.stderr.write(`\n!!! NOT CHECKED by ${missing.join(', ')}: not on this machine\n\n`);
  return missing.length === 0;
};

/** Like `isChecked`, for tests that create network namespaces, which ordinary users cannot. */
const isCheckedInNetwork = (programs: readonly string[]): boolean => {
  const isAllowed = !isInstalled('unshare') || check('unshare', ['--net', 'true']).code === 0;
  if (!isAllowed)
    process.stderr.write(`\n!!! NOT CHECKED by ${programs.join(', ')}: this user may make no network namespace\n\n`);
  return isAllowed && isChecked(['unshare', ...programs]);
};

/** `it` if all of these programs are installed. A test lists each program that it runs, including those run by a fixture. */
export const itWith = (...programs: readonly string[]): typeof it | typeof it.skip =>
  isChecked(programs) ? it : it.skip;

/** Like `itWith`, for a group of tests. */
export const describeWith = (...programs: readonly string[]): typeof describe | typeof describe.skip =>
  isChecked(programs) ? describe : describe.skip;

/** Like `itWith`, for tests that create a network namespace. */
export const itInNetwork = (...programs: readonly string[]): typeof it | typeof it.skip =>
  isCheckedInNetwork(programs) ? it : it.skip;

/** Like `describeWith`, for tests that create network namespaces. */
export const describeInNetwork = (...programs: readonly string[]): typeof describe | typeof describe.skip =>
  isCheckedInNetwork(programs) ? describe : describe.skip;
