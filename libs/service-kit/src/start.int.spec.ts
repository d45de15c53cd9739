import { randomBytes } from 'node:crypto';
import { appendFileSync, chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureCredentials } from '@fairlead/embedded';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { STREAMS, type HandoverRecord } from '@fairlead/contracts';
import { ensureStreams, NATS, type LogState } from '@fairlead/event-sourcing/jetstream';
import { closeLog, openLog } from '@fairlead/event-sourcing/streams';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { defineService } from './definition.js';
import { whileHeld, whileReadable } from './log.ownership.js';
import { startService, type RunningService } from './run.service.js';

jest.setTimeout(120_000);

@Module({})
class Empty {}

const FENCED: HandoverRecord = {
  state: 'fenced',
  id: '0b8f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e11',
  target: `X${'A'.repeat(55)}`,
  lock: '0'.repeat(64),
  at: '2026-11-24T10:00:00.000Z',
  epoch: 1,
  events: 0,
};

const definition = defineService({
  name: 'infra-svc',
  module: Empty,
  taskConcurrency: 1,
});

describe('a service that starts', () => {
  let environment: TestEnvironment;
  let folder: string;
  let said: string[];
  let service: RunningService | undefined;

  const start = async (changes: Readonly<Record<string, string | undefined>> = {}): Promise<void> => {
    service = await startService(definition, {
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('infra-svc'),
      DATABASE_URL: environment.databases['infra-svc'],
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      LOG_LEVEL: 'error',
      ...changes,
    });
  };
  const isReady = async (): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${service?.port}/readyz`)).status === 200;
  const waits = (what: RegExp): Promise<true> =>
    eventually(() => said.some((line) => line.startsWith('FAIRLEAD WAITING infra-svc for ') && what.test(line)));

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('start');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    await ensureStreams(await environment.connect('admin'));
  });
  beforeEach(() => {
    said = [];
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await service?.stop();
    service = undefined;
  });
  afterAll(async () => {
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('updates the settings of streams only if they differ', async () => {
    const admin = await environment.connect('admin');
    const written: string[] = [];
    admin.subscribe('$JS.EVENT.ADVISORY.STREAM.UPDATED.*', {
      callback: (_error, { subject }) => void written.push(subject.split('.').at(-1) ?? ''),
    });
    await ensureStreams(admin);
    await admin.flush();
    expect(written).toEqual([]);
    const { streams } = await jetstreamManager(admin);
    await streams.update(STREAMS.deadLetters, { allow_direct: false });
    const reports = await ensureStreams(admin);
    await eventually(() => written.length === 2);
    expect(new Set(written)).toEqual(new Set([STREAMS.deadLetters]));
    expect(reports.flatMap(({ name, notes }) => notes.map(({ text }) => `${name}: ${text}`))).toEqual([
      'DLQ: allow_direct set to true, on which Fairlead depends (was: false)',
    ]);
    expect((await streams.info(STREAMS.deadLetters)).config.allow_direct).toBe(true);
  });

  it('removes the job queue of an earlier release with its pending jobs: reconcilers plan them again', async () => {
    const admin = await environment.connect('admin');
    const { streams } = await jetstreamManager(admin);
    await streams.add({ name: 'JOBS', subjects: ['job.>'] });
    await admin.request('job.infra-svc.VerifyConnection', '{}');
    await ensureStreams(admin);
    await expect(streams.info('JOBS')).rejects.toThrow('stream not found');
  });

  it('keeps limits of streams and buckets that an operator changed, and reports them', async () => {
    const admin = await environment.connect('admin');
    const { streams } = await jetstreamManager(admin);
    const [dlq, secrets] = [STREAMS.deadLetters, 'KV_SECRETS'];
    await streams.update(dlq, { max_msgs: 7 });
    await streams.update(secrets, { max_bytes: 1024 * 1024 });
    const reports = await ensureStreams(admin);
    expect(reports.flatMap(({ name, notes }) => notes.map(({ text }) => `${name}: ${text}`))).toEqual([
      'DLQ: max_msgs 7 kept (default: 100000)',
      'SECRETS: max_bytes 1048576 kept (default: unlimited)',
    ]);
    expect((await streams.info(dlq)).config.max_msgs).toBe(7);
    await streams.update(dlq, { max_msgs: 100_000 });
    await streams.update(secrets, { max_bytes: -1 });
  });

  it('waits for NATS, reports that, and serves once it is up', async () => {
    await environment.killNats();
    const starting = start();
    await waits(/NATS at 127\.0\.0\.1:\d+: .*refused/i);
    await environment.startNats();
    await starting;
    await eventually(isReady);
  });

  it('waits for a stopped PostgreSQL', async () => {
    await environment.killPostgres();
    const starting = start();
    await waits(/PostgreSQL at 127\.0\.0\.1:\d+\/fairlead_infra_svc: .*ECONNREFUSED/);
    await environment.startPostgres();
    await starting;
    await eventually(isReady);
  });

  it('waits for PostgreSQL during its recovery, however long that takes', async () => {
    const recovery = heldInRecovery(environment);
    await recovery.begin();
    const starting = start();
    await waits(/PostgreSQL at .*the database system is (starting up|not (yet )?accepting connections)/);
    expect(said.join('')).not.toMatch(/postgres:\/\/|password/);
    await recovery.end();
    await starting;
    await eventually(isReady);
  });

  it('starts again if PostgreSQL and NATS are killed repeatedly during the start', async () => {
    const starting = start();
    for (let round = 0; round < 4; round += 1) {
      await environment.killPostgres();
      await environment.killNats();
      await environment.startPostgres();
      await environment.startNats();
    }
    await starting;
    await eventually(isReady);
  });

  it('fails with a message when its waiting time is over', async () => {
    await environment.killPostgres();
    try {
      await expect(start({ DEPENDENCIES_WAIT_MS: '700' })).rejects.toMatchObject({
        name: 'DependencyAway',
        message: expect.stringMatching(/^PostgreSQL at .* was not to be used within \d+ s: .*ECONNREFUSED/),
      });
    } finally {
      // In every case: the services of the other specs need PostgreSQL.
      await environment.startPostgres();
    }
  });

  it('does not wait for what only an operator can change, and reports it', async () => {
    const url = new URL(environment.databases['infra-svc']);
    const wrongPassword = Object.assign(new URL(url), { password: 'wrong' }).href;
    const noDatabase = Object.assign(new URL(url), { pathname: '/nowhere' }).href;
    const notOurs = Object.assign(new URL(url), { pathname: new URL(environment.databases['gateway']).pathname }).href;
    const strangers = ensureCredentials(join(folder, 'strangers'));
    for (const [changes, words] of [
      [{ DATABASE_URL: wrongPassword }, /PostgreSQL at .* refuses: password authentication failed/],
      [{ DATABASE_URL: noDatabase }, /PostgreSQL at .* refuses: database "nowhere" does not exist/],
      [{ DATABASE_URL: notOurs }, /PostgreSQL at .* refuses: permission denied/],
      [{ NATS_CREDS: strangers.credsFile('infra-svc') }, /NATS at .* refuses: .*Authorization Violation/i],
    ] as const) {
      await expect(start(changes)).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringMatching(words),
      });
    }
  });

  it('reports NATS, its database and the other services at /readyz', async () => {
    await start();
    const answer = await fetch(`http://127.0.0.1:${service?.port}/readyz`);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        status: 'ok',
        nats: 'ok',
        database: 'ok',
        log: 'ok',
        services: { gateway: 'ok', 'bootstrap-svc': 'ok', 'upgrade-svc': 'ok' },
        alarms: {},
      },
    ]);
  });

  it('announces its liveness to the others', async () => {
    await start();
    const subjects: string[] = [];
    const admin = await environment.connect('admin');
    admin.subscribe('alive.*', { callback: (_error, message) => void subjects.push(message.subject) });
    await eventually(() => subjects.includes('alive.infra-svc'));
  });

  it('reports when its connection to NATS has closed permanently, so that it can be restarted', async () => {
    await start();
    const nats = service?.get<NatsConnection>(NATS);
    await nats?.close();
    expect(await service?.lost).toBe('the connection to NATS has ended for good: the connection was closed');
  });

  it('does not start while the log is closed for a handover, ends when it is closed, and starts when it is reopened [ORBITER 30]', async () => {
    const admin = await environment.connect('admin');
    const signs: string[] = [];
    admin.subscribe('alive.*', { callback: (_error, message) => void signs.push(message.subject) });
    await start();
    await eventually(isReady);
    const closedAtMs = performance.now();
    await closeLog(admin, FENCED);
    expect(await service?.lost).toContain('it is being handed over to another installation');
    // Well before the next poll, so NATS notified it of the closed log.
    expect(performance.now() - closedAtMs).toBeLessThan(8_000);
    await service?.stop();
    service = undefined;
    signs.length = 0;
    const starting = start();
    await waits(/an installation that holds its log: .*handed over/);
    expect(signs).toEqual([]);
    await openLog(admin, undefined);
    await starting;
    await eventually(isReady);
  });

  it('does not start on a log that NATS has sealed, whatever the record states, if it acts on clusters', async () => {
    const held: Pick<LogState, 'record' | 'sealed'> = { record: undefined, sealed: true };
    expect([whileHeld(held), whileReadable(held)]).toEqual([false, true]);
    const of = (state: HandoverRecord['state']) => ({ record: { ...FENCED, state }, sealed: false });
    const serves = (['fenced', 'released', 'importing', 'imported', 'active'] as const).map((state) => [
      whileHeld(of(state)),
      whileReadable(of(state)),
    ]);
    expect(serves).toEqual([
      [false, true],
      [false, true],
      [false, false],
      [false, false],
      [true, true],
    ]);
  });

  it('reports no loss when it is stopped', async () => {
    await start();
    const lost = service?.lost;
    await service?.stop();
    service = undefined;
    expect(await lost).toBeUndefined();
  });
});

/**
 * As a standby without a primary, PostgreSQL stays in recovery and rejects every client (57P03) until it is promoted.
 */
const heldInRecovery = (environment: TestEnvironment): { begin(): Promise<void>; end(): Promise<void> } => {
  const data = join(environment.dataDir, 'postgres', 'data');
  const { uid, gid } = statSync(data);
  const write = (name: string, text: string): void => {
    appendFileSync(join(data, name), text);
    chownSync(join(data, name), uid, gid);
  };
  let resumed = Promise.resolve();
  return {
    begin: async () => {
      await environment.supervisor.hold('postgres');
      write('postgresql.auto.conf', "wal_level = 'replica'\nhot_standby = 'off'\n");
      await environment.supervisor.resume('postgres');
      await environment.supervisor.hold('postgres');
      write('standby.signal', '');
      resumed = environment.supervisor.resume('postgres');
    },
    end: async () => {
      write('promote', '');
      environment.supervisor.kill('postgres', 'SIGUSR1');
      await resumed;
    },
  };
};
