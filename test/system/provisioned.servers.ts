import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cacheFolder,
  LOOPBACK,
  resolveNatsServer,
  resolvePostgres,
  startPostgres,
  type Supervisor,
} from '@fairlead/embedded';
import { expect } from '@jest/globals';

const START_TIMEOUT_MS = 120_000;

export interface ProvisionedServers {
  /** Caches of programs, and the data of NATS, are below it. */
  readonly folder: string;
  readonly supervisor: Supervisor;
  port(name: 'nats' | 'monitor' | 'postgres'): number;
}

/** Starts NATS with a configuration made for a container: it listens on loopback here, and keeps its data in the folder. */
export const startProvisionedNats = async (
  servers: ProvisionedServers,
  config: string,
  args: (config: string) => readonly string[],
): Promise<void> => {
  const { folder, supervisor } = servers;
  const moved = join(folder, 'nats.conf');
  const text = readFileSync(config, 'utf8');
  expect(text).toContain('"0.0.0.0:4222"');
  writeFileSync(
    moved,
    text
      .replace('"0.0.0.0:4222"', `"${LOOPBACK}:${servers.port('nats')}"`)
      .replace('"0.0.0.0:8222"', `"${LOOPBACK}:${servers.port('monitor')}"`)
      .replaceAll(' dir: "/nats/', ` dir: "${join(folder, 'nats')}/`)
      .replace('store_dir: "/nats"', `store_dir: "${join(folder, 'nats')}"`),
  );
  const { path } = await resolveNatsServer({
    cacheDir: cacheFolder(process.env, folder),
    env: process.env,
    log: () => undefined,
  });
  await supervisor.start({
    name: 'nats',
    command: path,
    args: args(moved),
    readyUrl: `http://${LOOPBACK}:${servers.port('monitor')}/healthz`,
    readyTimeoutMs: START_TIMEOUT_MS,
  });
};

/** Starts PostgreSQL with the superuser's password in the data folder. */
export const startProvisionedPostgres = async (servers: ProvisionedServers, dataDir: string): Promise<void> => {
  const { folder, supervisor } = servers;
  const binaries = await resolvePostgres({ cacheDir: cacheFolder(process.env, folder), log: () => undefined });
  await startPostgres({ dataDir, binaries, port: servers.port('postgres'), durable: false, supervisor });
};
