import { join } from 'node:path';
import { readIfAny, writeWhole } from '../folder/files.js';
import { freePorts, LOOPBACK } from '../process/ports.js';
import { Supervisor } from '../supervisor/supervisor.js';
import { ensureCluster, handover, programEnvironment, SUPERUSER } from './postgres.cluster.js';
import { ensureSuperuserPassword } from './passwords.store.js';
import { POSTGRES_HBA, postgresConfig } from './postgres.config.js';
import type { PostgresBinaries } from './postgres.resolver.js';
import { giveTo, postgresUser, type PostgresUser } from './postgres.user.js';

export const POSTGRES_PROCESS = 'postgres';
const READY_TIMEOUT_MS = 600_000; // Crash recovery replays up to max_wal_size; interrupting it would only restart it.
const STOP_TIMEOUT_MS = 15_000;

export interface StartPostgresOptions {
  readonly dataDir: string;
  readonly binaries: PostgresBinaries;
  readonly port?: number;
  /** True by default: each commit is on disk before it is acknowledged. */
  readonly durable?: boolean;
  readonly supervisor?: Supervisor;
}

export interface RunningPostgres {
  /** For the superuser, with its password: never log it. */
  readonly adminUrl: string;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/** The version that wrote the data in this folder; undefined if there is none yet. */
export const postgresMajorOfData = (dataDir: string): number | undefined => {
  const text = readIfAny(join(dataDir, 'postgres', 'data', 'PG_VERSION'));
  return text === undefined ? undefined : Number(text.trim());
};

/**
 * Creates the data folder if needed, starts PostgreSQL on a loopback port, and resolves when it accepts connections.
 */
export const startPostgres = async (options: StartPostgresOptions): Promise<RunningPostgres> => {
  const { dataDir, binaries, durable = true } = options;
  const port = options.port ?? (await freePorts(dataDir, 1))[0] ?? 0;
  const password = ensureSuperuserPassword(dataDir);
  const supervisor = options.supervisor ?? new Supervisor({ dataDir, runName: POSTGRES_PROCESS });
  const user = postgresUser(join(dataDir, 'postgres'));
  const stop = async (): Promise<void> => {
    await (options.supervisor === undefined ? supervisor.stop() : supervisor.hold(POSTGRES_PROCESS));
    user.release();
  };
  try {
    await ensureCluster(join(dataDir, 'postgres'), { binaries, user, password });
    writeConfig(dataDir, user, { port, durable });
    await supervisor.start({
      name: POSTGRES_PROCESS,
      command: join(binaries.binDir, 'postgres'),
      args: ['-D', `${user.folder}/data`],
      env: programEnvironment(binaries),
      cwd: '/',
      ready: (line) => line.includes('database system is ready to accept connections'),
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopSignal: 'SIGINT', // "Fast shutdown": closes the sessions gracefully; SIGTERM would wait for the clients to disconnect.
      stopTimeoutMs: STOP_TIMEOUT_MS,
      ...handover(user),
    });
  } catch (error) {
    if (options.supervisor === undefined) await supervisor.stop();
    user.release();
    throw error;
  }
  return {
    adminUrl: `postgres://${SUPERUSER}:${password}@${LOOPBACK}:${port}/postgres`,
    get pid() {
      return supervisor.status().find(({ name }) => name === POSTGRES_PROCESS)?.pid;
    },
    stop,
  };
};

const writeConfig = (dataDir: string, user: PostgresUser, config: { port: number; durable: boolean }): void => {
  const texts = { 'postgresql.conf': postgresConfig(config), 'pg_hba.conf': POSTGRES_HBA };
  for (const [name, text] of Object.entries(texts)) {
    const file = join(dataDir, 'postgres', 'data', name);
    if (readIfAny(file) === text) continue;
    writeWhole(file, text);
    giveTo(user, file);
  }
};
