import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Client } from 'pg';
import { bundleProgram, processesNaming, Program } from '../../test/programs.js';
import { cacheFolder } from '../folder/cache-folder.js';
import { testEnvironment, type TestEnvironment } from '../testing.js';
import { startEnvironment } from './environment.js';
import { throwawayFolder } from './throwaway-folder.js';

jest.setTimeout(120_000); // For a busy machine; each wait in a test has its own deadline.

const FIRST_TIMEOUT_MS = 180_000; // Programs and the template may have to be downloaded and created.

describe('a test environment', () => {
  let environment: TestEnvironment;
  beforeAll(async () => (environment = await testEnvironment()), FIRST_TIMEOUT_MS);
  afterAll(() => environment.stop());

  it('keeps events and rows when NATS and PostgreSQL are killed and restarted at their addresses', async () => {
    const connection = await environment.connect('admin');
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'CRASH', subjects: ['crash.>'] });
    await jetstream(connection).publish('crash.one', 'kept');
    const client = async (): Promise<Client> => {
      const opened = new Client({ connectionString: environment.databases.gateway });
      opened.on('error', () => undefined);
      await opened.connect();
      return opened;
    };
    const before = await client();
    await before.query('create table kept (id int)');
    await before.query('insert into kept values (1)');

    await environment.killNats();
    await environment.killPostgres();
    await expect(client()).rejects.toThrow(/ECONNREFUSED/);
    await environment.startNats();
    await environment.startPostgres();

    const again = await environment.connect('admin');
    expect((await (await jetstreamManager(again)).streams.info('CRASH')).state.messages).toBe(1);
    const after = await client();
    expect((await after.query('select id from kept')).rows).toEqual([{ id: 1 }]);
    await after.end();
  });

  it('gives a service only its own permissions', async () => {
    const gateway = await environment.connect('gateway');
    const manager = await jetstreamManager(gateway, { checkAPI: false });
    expect((await manager.getAccountInfo()).api.level).toBeGreaterThanOrEqual(2);
    await expect(manager.streams.add({ name: 'MINE', subjects: ['mine.>'] })).rejects.toThrow(/permissions violation/i);
  });

  it('can be used as external servers, which are left running', async () => {
    const dataDir = throwawayFolder();
    const env = {
      NATS_URL: environment.nats.url,
      NATS_CREDS_DIR: join(environment.dataDir, 'creds'),
      DATABASE_URL: environment.databaseAdminUrl,
    };
    const external = await startEnvironment({ dataDir, env });
    expect(external.supervisor.status()).toEqual([]);
    expect(external.nats.url).toBe(environment.nats.url);
    expect(external.nats.credsFile('gateway')).toBe(environment.nats.credsFile('gateway'));
    const client = new Client({ connectionString: external.databases['infra-svc'] });
    await client.connect();
    await client.end();
    await external.stop();
    removeFolder(dataDir);
    expect(environment.supervisor.status().map(({ state }) => state.status)).toEqual(['running', 'running']);
  });

  it('leaves nothing after it is stopped', async () => {
    const other = await testEnvironment();
    await other.stop();
    expect(existsSync(other.dataDir)).toBe(false);
    expect(await processesNaming(other.dataDir)).toEqual([]);
  });
});

describe('an environment', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = throwawayFolder();
  });
  afterEach(() => removeFolder(dataDir));
  const env = { PATH: process.env['PATH'], FAIRLEAD_CACHE: cacheFolder(process.env, tmpdir()) };

  it(
    'has the same addresses, credentials and databases after a restart',
    async () => {
      const first = await startEnvironment({ dataDir, env });
      const known = {
        url: first.nats.url,
        databases: first.databases,
        creds: readFileSync(first.nats.credsFile('gateway') ?? '', 'utf8'),
      };
      await expect(startEnvironment({ dataDir, env })).rejects.toMatchObject({ code: 'folder-in-use' });
      await first.stop();
      const second = await startEnvironment({ dataDir, env });
      expect({
        url: second.nats.url,
        databases: second.databases,
        creds: readFileSync(second.nats.credsFile('gateway') ?? '', 'utf8'),
      }).toEqual(known);
      await second.stop();
    },
    FIRST_TIMEOUT_MS,
  );

  it(
    'is recreated if an earlier start was killed before PostgreSQL had its data',
    async () => {
      mkdirSync(join(dataDir, 'postgres/initdb-half/data'), { recursive: true });
      writeFileSync(join(dataDir, 'postgres/initdb-half/data/PG_VERSION'), '15\n');
      const environment = await startEnvironment({ dataDir, env });
      await environment.stop();
      expect(readdirSync(join(dataDir, 'postgres'))).toEqual(['data']);
    },
    FIRST_TIMEOUT_MS,
  );

  it('stops PostgreSQL if NATS is not available, and can then be started', async () => {
    const broken = { ...env, NATS_SERVER_BIN: '/bin/false' };
    await expect(startEnvironment({ dataDir, env: broken })).rejects.toMatchObject({
      code: 'nats-missing',
      message: expect.stringMatching(/^NATS_SERVER_BIN cannot be used/),
    });
    const second = await startEnvironment({ dataDir, env });
    await second.stop();
  }, 60_000);

  it('rejects a NATS server that does not answer, with its address', async () => {
    const away = { ...env, NATS_URL: 'nats://127.0.0.1:1', DATABASE_URL: 'postgres://127.0.0.1:1/x' };
    await expect(startEnvironment({ dataDir, env: away })).rejects.toMatchObject({
      code: 'nats-refused',
      message: expect.stringMatching(
        /^NATS at nats:\/\/127\.0\.0\.1:1 cannot be used without credentials .*: connection refused\. Start it/,
      ),
    });
  });
});

describe('an environment of another process', () => {
  let folder: string;
  let program: { file: string; remove(): void };
  const cache = cacheFolder(process.env, tmpdir());

  beforeEach(async () => {
    folder = throwawayFolder();
    program = await bundleProgram(`
      import { startEnvironment } from '@embedded';
      const environment = await startEnvironment({ dataDir: process.argv[2] });
      console.log('up', JSON.stringify(environment.supervisor.status().map(({ pid }) => pid)));
      if (process.argv[3] === 'stay') setInterval(() => {}, 1000);
      else await environment.stop();
    `);
  }, 60_000);
  afterEach(() => {
    program.remove();
    removeFolder(folder);
  });

  it('that is killed with kill -9 leaves neither server, and can be started again', async () => {
    const dataDir = join(folder, 'data');
    const options = { args: [dataDir, 'stay'], env: { ...process.env, FAIRLEAD_CACHE: cache } };
    const killed = new Program(program.file, options);
    await eventually(() => killed.said.includes('up'));
    const pids = JSON.parse(/up (\[.*\])/.exec(killed.said)?.[1] ?? '[]') as number[];
    expect(pids).toHaveLength(2);
    killed.process.kill('SIGKILL');
    const next = await new Program(program.file, { ...options, args: [dataDir] }).ended;
    expect(next).toEqual({ code: 0, output: expect.stringContaining('up') });
    await eventually(async () => (await processesNaming(dataDir)).length === 0);
    for (const pid of pids)
      expect(existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '').toBe(false);
  }, 60_000);

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot(
    'runs for an ordinary user with a home of its own, and leaves everything there',
    async () => {
      chmodSync(folder, 0o700);
      chownSync(folder, 65534, 65534);
      const nats = readdirSync(cache).find((name) => name.startsWith('nats-server-')) ?? '';
      const readable = newFolder('binary');
      chmodSync(readable, 0o755);
      copyProgram(join(cache, nats, 'nats-server'), join(readable, 'nats-server'));
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        NATS_SERVER_BIN: join(readable, 'nats-server'),
        NODE_PATH: join(process.cwd(), 'node_modules'),
      };
      const run = new Program(program.file, { args: [join(folder, 'data')], env, uid: 65534, gid: 65534 });
      const ended = await run.ended;
      removeFolder(readable);
      expect(ended).toEqual({ code: 0, output: expect.stringContaining('up') });
      expect(readdirSync(join(folder, 'data')).sort()).toEqual([
        'creds',
        'fairlead.json',
        'keys',
        'logs',
        'nats',
        'postgres',
        'run',
      ]);
    },
    60_000,
  );
});

const copyProgram = (from: string, to: string): void => {
  writeFileSync(to, readFileSync(from), { mode: 0o755 });
};
