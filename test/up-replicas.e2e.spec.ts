import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { interpolated } from './system/compose.file.js';
import { NatsCluster } from './system/nats.cluster.js';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const MAIN = join(CHECKOUT, 'apps/cli/bin/fairlead.mjs');
const START_TIMEOUT_MS = 120_000;
const TIMEOUT_MS = 4 * START_TIMEOUT_MS;

let folder: string;
let nats: NatsCluster;

beforeEach(async () => {
  folder = newFolder('up-replicas');
  nats = await NatsCluster.start(folder);
}, START_TIMEOUT_MS);

afterEach(async () => {
  await nats?.stop();
  removeFolder(folder);
}, 60_000);

/** `EVENTS 3` of every stream; buckets and object stores are streams, too. */
const replicas = async (): Promise<readonly string[]> => {
  const manager = await nats.manager();
  const found: string[] = [];
  for await (const { config } of manager.streams.list()) found.push(`${config.name} ${config.num_replicas}`);
  return found.toSorted();
};

const STREAMS = [
  ...['AGENT_FACTS', 'DLQ', 'EVENTS', 'KV_HELD_NAMES', 'KV_PUBLISHED_NAMES', 'KV_SECRETS', 'KV_SECRET_KEYS'],
  'OBJ_SNAPSHOTS',
];
const everyOneHas = (count: number): readonly string[] => STREAMS.map((name) => `${name} ${count}`).toSorted();

describe('"fairlead up" on three NATS servers', () => {
  let port: number;
  let running: { readonly child: ChildProcess; said: string; readonly ended: Promise<void> } | undefined;

  const stop = async (): Promise<string> => {
    running?.child.kill('SIGTERM');
    await running?.ended;
    const { said = '' } = running ?? {};
    running = undefined;
    return said;
  };
  afterEach(stop, 60_000);

  /** Started until its gateway answers; what it printed meanwhile is returned when it is stopped. */
  const up = async (...args: readonly string[]): Promise<void> => {
    const { PATH, HOME } = process.env;
    const env = {
      ...{ PATH, HOME, CI: 'true', NATS_URL: nats.url },
      NATS_CREDS_DIR: join(nats.data, 'creds'),
      NATS_CA_FILE: join(nats.data, 'keys', 'nats-ca.pem'),
    };
    const words = [MAIN, 'up', '--data', join(folder, 'up'), '--port', String(port), ...args];
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const started = { child, said: '', ended: new Promise<void>((resolve) => child.once('exit', () => resolve())) };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (started.said += String(text)));
    running = started;
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error(`up ended: ${started.said}`);
        return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
      },
      (status) => status === 200,
      { withinMs: START_TIMEOUT_MS, everyMs: 250 },
    );
  };

  it(
    'keeps every stream, bucket and object store on all three with --replicas 3, and a later start lowers none',
    async () => {
      [port = 0] = await freePorts(folder, 1);
      await up('--replicas', '3');
      expect(await replicas()).toEqual(everyOneHas(3));
      await stop();

      await up();
      expect(await replicas()).toEqual(everyOneHas(3));
      await stop();

      await up('--replicas', '1');
      expect(await replicas()).toEqual(everyOneHas(3));
      expect(await stop()).toMatch(/EVENTS: 3 replicas kept, because replicas are never lowered: 1 asked for/);
    },
    TIMEOUT_MS,
  );
});

describe('the container "stores" of Compose with FAIRLEAD_REPLICAS=3', () => {
  interface Stores {
    readonly command: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  }

  /** Its command and environment as Compose makes them, with the paths and the address of this machine. */
  const stores = async (variables: Readonly<Record<string, string>>): Promise<string> => {
    const file = parse(readFileSync(join(CHECKOUT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
      readonly services: { readonly stores: Stores };
    };
    const { command, environment } = file.services.stores;
    const here = (word: string): string => {
      const text = interpolated(word, variables);
      if (text.startsWith('postgres://')) return nats.databaseAdminUrl;
      return text.replace(/^\/data$/, nats.data).replace(/^\/secrets$/, join(nats.data, 'secrets'));
    };
    const env = Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, here(text)]));
    const [program = '', ...args] = command.map(here);
    return (await run(process.execPath, [join(CHECKOUT, program), ...args], { env })).stdout;
  };

  it(
    'makes every stream, bucket and object store with three replicas, and without it lowers none',
    async () => {
      await stores({ FAIRLEAD_NATS_URL: nats.url, FAIRLEAD_REPLICAS: '3' });
      expect(await replicas()).toEqual(everyOneHas(3));
      await stores({ FAIRLEAD_NATS_URL: nats.url });
      expect(await replicas()).toEqual(everyOneHas(3));
      expect(await stores({ FAIRLEAD_NATS_URL: nats.url, FAIRLEAD_REPLICAS: '1' })).toMatch(
        /^EVENTS .*3 replicas kept, because replicas are never lowered: 1 asked for/m,
      );
    },
    TIMEOUT_MS,
  );
});
