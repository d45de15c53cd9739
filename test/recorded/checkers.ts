import { spawnSync } from 'node:child_process';
import { it } from '@jest/globals';

/** Programs that check their own configurations; some are not on an ordinary PATH. */
const FOLDERS = ':/usr/local/sbin:/usr/sbin:/sbin';

export interface Checked {
  readonly code: number | null;
  /** All that it said, in lines. */
  readonly lines: readonly string[];
}

/** What a checker of this machine says. */
export const check = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Checked => {
  const path = `${process.env['PATH'] ?? ''}${FOLDERS}`;
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env, PATH: path, LC_ALL: 'C' },
  });
  if (error !== undefined) throw error;
  return { code: status, lines: `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '') };
};

/** `it` where that checker is installed. Where it is not, this is printed on the terminal: a skip must not be mistaken for a pass. */
export const itWith = (program: string, versionFlag = '--version'): typeof it | typeof it.skip => {
  try {
    check(program, [versionFlag]);
    return it;
  } catch {
    process.stderr.write(`\n!!! NOT CHECKED by ${program} itself, which is not on this machine\n\n`);
    return it.skip;
  }
};
