import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { parsePostgresMajor } from './postgres.config.js';
import { shippedPostgres } from './shipped.binaries.js';

const POSTGRES_MAJOR_MIN = 15;
const SYSTEM_FOLDER = '/usr/lib/postgresql';
const VERSION_TIMEOUT_MS = 10_000;

export interface PostgresBinaries {
  /** Holds `postgres` and `initdb`. */
  readonly binDir: string;
  readonly major: number;
  /** Set where the programs need libraries that the system does not have. */
  readonly libDir?: string;
  readonly source: 'system' | 'npm';
}

export interface ResolvePostgresOptions {
  readonly cacheDir: string;
  readonly log: (sentence: string) => void;
  /** The version that existing data was written by: another one cannot read it. */
  readonly major?: number;
  /** Where the system keeps its servers, one folder per major version. */
  readonly systemFolder?: string;
}

/**
 * PostgreSQL's programs: the newest on the system (15 or newer), else those that npm ships. (`DATABASE_URL`, a running server, is the
 * caller's to honour.) Throws an `EnvironmentFault` that names what was tried.
 */
export const resolvePostgres = async (options: ResolvePostgresOptions): Promise<PostgresBinaries> => {
  const { cacheDir, log, major, systemFolder = SYSTEM_FOLDER } = options;
  const reasons: string[] = [];
  const fits = (found: number): boolean => (major === undefined ? found >= POSTGRES_MAJOR_MIN : found === major);

  for (const binDir of systemBinDirs(systemFolder)) {
    const found = await majorOf(binDir);
    if (typeof found === 'number' && fits(found)) return { binDir, major: found, source: 'system' };
    reasons.push(typeof found === 'number' ? `${binDir} is version ${found}` : found);
  }
  const shipped = await shippedPostgres({ cacheDir, log });
  if (shipped.status === 'found') {
    const found = await majorOf(shipped.binDir, shipped.libDir);
    if (typeof found === 'number' && fits(found)) return { ...shipped, major: found, source: 'npm' };
    reasons.push(typeof found === 'number' ? `npm ships version ${found}` : found);
  } else {
    reasons.push(shipped.reason);
  }
  throw new EnvironmentFault('postgres-missing', {
    operation: 'find PostgreSQL',
    target: 'this machine',
    message:
      `There is no PostgreSQL ${major === undefined ? `${POSTGRES_MAJOR_MIN} or newer` : `${major}, which wrote the data in this folder`}. ` +
      `Install it (Debian: apt install postgresql), or set DATABASE_URL to a running one. Tried: ${reasons.join('; ')}.`,
  });
};

const systemBinDirs = (folder: string): readonly string[] => {
  if (!existsSync(folder)) return [];
  const majors = readdirSync(folder)
    .map(Number)
    .filter((major) => Number.isInteger(major) && major >= POSTGRES_MAJOR_MIN);
  return majors
    .sort((left, right) => right - left)
    .map((major) => join(folder, String(major), 'bin'))
    .filter((binDir) => existsSync(join(binDir, 'postgres')) && existsSync(join(binDir, 'initdb')));
};

/** The version of the programs there, or why there is none. */
const majorOf = async (binDir: string, libDir?: string): Promise<number | string> => {
  const result = await runCommand(join(binDir, 'postgres'), ['--version'], {
    timeoutMs: VERSION_TIMEOUT_MS,
    env: { ...process.env, ...(libDir === undefined ? {} : { LD_LIBRARY_PATH: libDir }) },
  });
  const found = result.code === 0 ? parsePostgresMajor(result.stdout) : undefined;
  return found ?? `${binDir}/postgres does not run (${lastWordsOf(result)})`;
};
