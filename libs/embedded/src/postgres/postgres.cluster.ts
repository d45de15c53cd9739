import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import type { PostgresBinaries } from './postgres.resolver.js';
import { giveTo, type PostgresUser } from './postgres.user.js';

export const SUPERUSER = 'postgres';
const INIT_TIMEOUT_MS = 60_000;
const ATTEMPT = 'initdb-';

export interface ClusterContext {
  readonly binaries: PostgresBinaries;
  readonly user: PostgresUser;
  readonly password: string;
}

/**
 * Creates `<folder>/data` if it does not exist. `initdb` runs in its own folder, and the result is moved into place: a
 * crash leaves nothing that looks complete (`PG_VERSION` is among the first files).
 */
export const ensureCluster = async (folder: string, context: ClusterContext): Promise<void> => {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(ATTEMPT)) rmSync(join(folder, name), { recursive: true, force: true });
  }
  if (existsSync(join(folder, 'data'))) return;
  const attempt = `${ATTEMPT}${randomUUID()}`;
  try {
    await initialise(folder, attempt, context);
    renameSync(join(folder, attempt, 'data'), join(folder, 'data'));
  } finally {
    rmSync(join(folder, attempt), { recursive: true, force: true });
  }
};

const initialise = async (
  folder: string,
  attempt: string,
  { binaries, user, password }: ClusterContext,
): Promise<void> => {
  const passwordFile = join(folder, attempt, 'password');
  mkdirSync(join(folder, attempt), { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  for (const file of [join(folder, attempt), passwordFile]) giveTo(user, file);
  const seen = `${user.folder}/${attempt}`;
  const access = ['-U', SUPERUSER, '-A', 'scram-sha-256', `--pwfile=${seen}/password`];
  const options = ['-D', `${seen}/data`, ...access, '--locale=C', '--encoding=UTF8'];
  const result = await runCommand(join(binaries.binDir, 'initdb'), options, {
    timeoutMs: INIT_TIMEOUT_MS,
    env: programEnvironment(binaries),
    cwd: '/',
    ...handover(user),
  });
  if (result.code === 0) return;
  throw new EnvironmentFault('command-failed', {
    operation: 'initdb',
    target: folder,
    message: `PostgreSQL could not make its data in ${folder}: ${lastWordsOf(result)}`,
  });
};

/** Options with which a program runs as that user and can enter the folder. */
export const handover = ({
  identity,
  folderHandle,
}: PostgresUser): Pick<PostgresUser, 'identity' | 'folderHandle'> => ({
  ...(identity === undefined ? {} : { identity }),
  ...(folderHandle === undefined ? {} : { folderHandle }),
});

export const programEnvironment = ({ libDir }: PostgresBinaries): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  LC_ALL: 'C',
  ...(libDir === undefined ? {} : { LD_LIBRARY_PATH: libDir }),
});
