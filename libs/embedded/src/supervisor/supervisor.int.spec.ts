import { newFolder, removeFolder } from '@fairlead/testing';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bundleProgram, processesNaming, Program } from '../../test/programs.js';
import { identityOf } from '../process/identity.js';
import { waitUntil } from '../process/waiting.js';
import { LogFile } from './log-file.js';
import type { ReplicaState } from './replica.js';
import { Supervisor, type SupervisedSpec } from './supervisor.js';

const DEADLINE_MS = 30_000;
const QUICK = { startTriesMax: 3, forgiveMs: 5_000, delayMs: 10, delayMaxMs: 20 };
const NO_RESTART = { startTriesMax: 1, forgiveMs: 5_000, delayMs: 0, delayMaxMs: 0 };
const SERVE = `console.log('ready ' + (process.env.REPLICA ?? '')); setInterval(() => {}, 1000);`;

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  if (!(await waitUntil(holds, { timeoutMs: DEADLINE_MS, everyMs: 10 })))
    throw new Error('the condition did not come true in time');
};

describe('a supervisor', () => {
  let dataDir: string;
  let supervisor: Supervisor;
  let states: string[];
  let waits: Extract<ReplicaState, { status: 'waiting' }>[];

  beforeEach(() => {
    dataDir = newFolder('supervisor');
    states = [];
    waits = [];
    supervisor = new Supervisor({
      dataDir,
      onState: (name, state: ReplicaState) => {
        states.push(`${name} ${state.status}`);
        if (state.status === 'waiting') waits.push(state);
      },
    });
  });

  afterEach(async () => {
    await supervisor.stop();
    removeFolder(dataDir);
  });

  const node = (name: string, script: string, more: Partial<SupervisedSpec> = {}): SupervisedSpec => ({
    name,
    command: process.execPath,
    args: ['-e', script],
    ready: (line) => line.startsWith('ready'),
    restart: QUICK,
    ...more,
  });
  const pidOf = (name: string): number | undefined => supervisor.status().find((status) => status.name === name)?.pid;
  const log = (name: string): string => readFileSync(join(dataDir, 'logs', `${name}.log`), 'utf8');

  it('waits until a process is ready, and logs its output', async () => {
    await supervisor.start(node('service', `console.error('booting'); ${SERVE}`));
    expect(supervisor.status()).toEqual([
      expect.objectContaining({ name: 'service', restarts: 0, state: expect.objectContaining({ status: 'running' }) }),
    ]);
    // Standard output and standard error are two pipes: either may be read first.
    await until(() => log('service').includes('booting'));
    expect(log('service').split('\n').toSorted()).toEqual(['', 'booting', 'ready ']);
  });

  it('polls a URL for readiness', async () => {
    const script = `let n = 0; require('http').createServer((_, r) => { r.statusCode = ++n < 3 ? 503 : 200; r.end(); console.log('asked'); }).listen(0, '127.0.0.1', function () { console.log('port ' + this.address().port); })`;
    const port = Number(/port (\d+)/.exec((await probe(script)).said)?.[1]);
    await supervisor.start(
      node('web', script.replace('.listen(0,', `.listen(${port},`), {
        ready: () => true,
        readyUrl: `http://127.0.0.1:${port}/`,
      }),
    );
    await until(() => log('web').match(/asked/g)?.length === 3);
  });

  it('gives a process that waits for its input a line once there is one, again after a crash, with the full timeout from then on', async () => {
    let give = (_line: string): void => undefined;
    const input = new Promise<string>((resolve) => (give = resolve));
    const script = `process.stdin.once('data', (line) => { console.log('ready ' + line); setInterval(() => {}, 1000); })`;
    const starting = supervisor.start(node('service', script, { input, readyTimeoutMs: 1_000 }));
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(supervisor.status()[0]?.state.status).toBe('starting');
    give('now');
    await starting;
    supervisor.kill('service');
    await until(() => log('service').match(/ready now/g)?.length === 2);
  });

  it('ends a process that waits for its input', async () => {
    const input = new Promise<string>(() => undefined);
    const starting = supervisor.start(node('service', `process.stdin.resume()`, { input }));
    starting.catch(() => undefined);
    await until(() => pidOf('service') !== undefined);
    await supervisor.stop();
    await expect(starting).rejects.toThrow('service was stopped before it was ready');
  });

  it('restarts a killed process, however often it is killed', async () => {
    await supervisor.start(node('service', SERVE));
    for (const restarts of [1, 2]) {
      const before = pidOf('service');
      supervisor.kill('service');
      await until(
        () =>
          supervisor.status()[0]?.restarts === restarts &&
          pidOf('service') !== before &&
          pidOf('service') !== undefined,
      );
    }
    await until(() => supervisor.status()[0]?.state.status === 'running');
  });

  it('abandons a process that crashes before it was ever ready, and quotes its last output', async () => {
    const starting = supervisor.start(node('service', `console.error('no database'); process.exit(3)`));
    await expect(starting).rejects.toMatchObject({
      code: 'crash-loop',
      message: expect.stringMatching(
        /^service crashed 3 times and never was ready\. service ended before it was ready \(exit code 3\)\..*no database/s,
      ),
    });
    expect(states.filter((state) => state === 'service starting')).toHaveLength(3);
  });

  it('does not retry an invalid configuration', async () => {
    const starting = supervisor.start(node('service', `console.error('PORT: not a number'); process.exit(2)`));
    await expect(starting).rejects.toMatchObject({ message: expect.stringContaining('PORT: not a number') });
    expect(states.filter((state) => state === 'service starting')).toHaveLength(1);
  });

  it('restarts a process that always crashes with backoff, while the others run', async () => {
    const crash = `console.log('ready'); setTimeout(() => { throw new Error('lost its mind') }, 20)`;
    const restart = { startTriesMax: 3, forgiveMs: 5_000, delayMs: 8, delayMaxMs: 60_000 };
    await supervisor.start(node('other', SERVE));
    const other = pidOf('other');
    await supervisor.start(node('service', crash, { restart }));
    await until(() => waits.length >= 7);
    expect(waits.slice(0, 7).map(({ crashes }) => crashes)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (const [index, { delayMs }] of waits.slice(0, 7).entries()) {
      expect(delayMs).toBeGreaterThanOrEqual(4 * 2 ** index);
      expect(delayMs).toBeLessThanOrEqual(8 * 2 ** index);
    }
    expect(waits[0]?.reason).toContain('lost its mind');
    expect(pidOf('other')).toBe(other);
    expect(supervisor.status().find(({ name }) => name === 'other')).toMatchObject({
      restarts: 0,
      state: { status: 'running' },
    });
  });

  it('counts no crash if it ended the process itself, if the process reports a missing dependency, or if one is known', async () => {
    const restart = { startTriesMax: 1, forgiveMs: 5_000, delayMs: 1, delayMaxMs: 1 };
    await supervisor.start(node('killed', SERVE, { restart }));
    supervisor.kill('killed');
    await until(() => waits.length === 1 && pidOf('killed') !== undefined);
    const marker = join(dataDir, 'database-is-up');
    const needy = (code: number): string =>
      `if (!require('fs').existsSync(${JSON.stringify(marker)})) process.exit(${code}); ${SERVE}`;
    // An attempt that began before the database was up may end slightly later.
    const isUp = (): boolean => existsSync(marker) && Date.now() - statSync(marker).mtimeMs > 3_000;
    const started = Promise.all([
      supervisor.start(node('patient', needy(75), { restart })),
      supervisor.start(
        node('explained', needy(1), { restart, excuse: () => (isUp() ? undefined : 'The database is down.') }),
      ),
    ]);
    await until(() => waits.length >= 9);
    writeFileSync(marker, '');
    await started;
    expect(new Set(waits.map(({ crashes }) => crashes))).toEqual(new Set([0]));
    expect(waits.map(({ reason }) => reason)).toContainEqual(expect.stringMatching(/^The database is down\. /));
  });

  it('extends the timeout of a process that reports what it is waiting for, and passes that on', async () => {
    const script = `let n = 0; const timer = setInterval(() => { if (++n < 6) return console.log('waits for the database'); clearInterval(timer); ${SERVE} }, 500)`;
    const heard: string[] = [];
    const other = new Supervisor({
      dataDir: join(dataDir, 'other'),
      onState: (_name, state) => {
        if (state.status === 'starting' && state.waitsFor !== undefined) heard.push(state.waitsFor);
      },
    });
    await other.start(
      node('patient', script, {
        readyTimeoutMs: 2_000, // Less than the child takes, and more than Node.js needs to start on a busy machine.
        restart: NO_RESTART,
        waitsFor: (line) => /^waits for (.*)/.exec(line)?.[1],
      }),
    );
    await other.stop();
    expect(new Set(heard)).toEqual(new Set(['the database']));
  });

  it('retries failures before the start', async () => {
    let failures = 0;
    const beforeStart = async (): Promise<void> => {
      failures += 1;
      if (failures === 2) throw new Error('the port is taken');
    };
    await supervisor.start(node('service', SERVE, { beforeStart }));
    supervisor.kill('service');
    await until(() => failures === 3 && pidOf('service') !== undefined);
    expect(waits.map(({ reason }) => reason)).toContainEqual('the port is taken');
  });

  it('reports a program that could not be started at all', async () => {
    const starting = supervisor.start({ name: 'ghost', command: '/no/such/program', restart: NO_RESTART });
    await expect(starting).rejects.toMatchObject({ code: 'not-ready', message: expect.stringContaining('ENOENT') });
  });

  it('ends a process that is not ready in time', async () => {
    const sleeper = {
      command: '/bin/sh',
      args: ['-c', 'echo hm; exec sleep 600'],
      readyTimeoutMs: 1_000,
      restart: NO_RESTART,
    };
    await expect(supervisor.start(node('sleeper', '', sleeper))).rejects.toMatchObject({
      message: expect.stringMatching(/^sleeper was not ready within 1000 ms\. .*hm/s),
    });
    expect(pidOf('sleeper')).toBeUndefined();
  });

  it('keeps a held process down until it is resumed', async () => {
    await supervisor.start(node('service', SERVE));
    const before = pidOf('service') ?? 0;
    await supervisor.hold('service', 'SIGKILL');
    expect({ state: supervisor.status()[0]?.state.status, alive: identityOf(before) }).toEqual({
      state: 'held',
      alive: undefined,
    });
    await supervisor.resume('service');
    expect(pidOf('service')).not.toBe(before);
  });

  it('runs the requested number of replicas, each with its differences', async () => {
    await supervisor.start(
      node('service', SERVE, { forReplica: (n) => ({ env: { ...process.env, REPLICA: String(n) } }) }),
    );
    await supervisor.scale('service', 3);
    expect(supervisor.status().map(({ name }) => name)).toEqual(['service', 'service-2', 'service-3']);
    expect(log('service-3')).toBe('ready 3\n');
    const third = pidOf('service-3') ?? 0;
    await supervisor.scale('service', 1);
    expect(supervisor.status().map(({ name }) => name)).toEqual(['service']);
    expect(identityOf(third)).toBeUndefined();
  });

  it('ends the last started first, and kills one that ignores the signal', async () => {
    const deaf = `process.on('SIGTERM', () => console.log('no')); ${SERVE}`;
    await supervisor.start(node('first', SERVE));
    await supervisor.start(node('second', deaf, { stopTimeoutMs: 200 }));
    await supervisor.stop();
    expect(states.filter((state) => state.endsWith('stopped'))).toEqual(['second stopped', 'first stopped']);
    expect(log('second')).toContain('no\n');
  });

  it('ends processes left behind by a process, too', async () => {
    const parent = `const c = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']); console.log('ready ' + c.pid); setInterval(() => {}, 1000)`;
    await supervisor.start(node('parent', parent));
    const grandchild = Number(/ready (\d+)/.exec(log('parent'))?.[1]);
    expect(identityOf(grandchild)).toBeDefined();
    await supervisor.hold('parent', 'SIGKILL');
    await until(() => identityOf(grandchild) === undefined);
  });

  /** Runs a program until it has printed its port, to find a free one. */
  const probe = async (script: string): Promise<{ said: string }> => {
    const other = new Supervisor({ dataDir: join(dataDir, 'probe') });
    await other.start(node('probe', script, { ready: (line) => line.startsWith('port') }));
    await other.stop();
    return { said: readFileSync(join(dataDir, 'probe/logs/probe.log'), 'utf8') };
  };
});

describe('a log', () => {
  it('stays below its maximum size, and keeps one older file', () => {
    const folder = newFolder('log');
    const file = join(folder, 'service.log');
    const log = new LogFile(file, 20);
    for (const line of ['first line\n', 'second\n', 'third line\n']) log.write(line);
    log.close();
    expect([readFileSync(`${file}.1`, 'utf8'), readFileSync(file, 'utf8')]).toEqual([
      'first line\nsecond\n',
      'third line\n',
    ]);
    rmSync(folder, { recursive: true });
  });
});

describe('when the supervising process dies', () => {
  let dataDir: string;
  let program: { file: string; remove(): void };

  beforeEach(async () => {
    dataDir = newFolder('orphans');
    program = await bundleProgram(`
      import { Supervisor } from '@embedded';
      const [dataDir, marker, mode] = process.argv.slice(2);
      const supervisor = new Supervisor({ dataDir });
      const child = (mode === 'deaf' ? "process.on('SIGTERM', () => {});" : '') + "const c = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '" + marker + "']); console.log('ready'); setInterval(() => {}, 1000)";
      await supervisor.start({ name: 'deaf', command: process.execPath, args: ['-e', child, marker], ready: (line) => line === 'ready', stopTimeoutMs: 100 });
      console.log('up');
    `);
  });
  afterEach(() => {
    program.remove();
    removeFolder(dataDir);
  });

  it.each([
    ['SIGKILL', 'deaf'],
    ['SIGINT', 'meek'],
    ['SIGTERM', 'meek'],
    ['SIGHUP', 'meek'],
  ] as const)('by %s without notice, its warden ends a %s child and its child', async (signal, mode) => {
    const marker = join(dataDir, `marker-${signal}`);
    const parent = new Program(program.file, { args: [dataDir, marker, mode] });
    await until(() => parent.said.includes('up'));
    await until(async () => (await processesNaming(marker)).length === 3); // The parent, the child and the child's child.
    parent.process.kill(signal);
    await until(async () => (await processesNaming(marker)).length === 0);
    expect(existsSync(join(dataDir, 'run/processes/deaf.pid'))).toBe(true); // For the next owner, in case the warden had died too.
  });

  it('and its warden with it, the next owner of the folder ends what is left', async () => {
    const marker = join(dataDir, 'marker');
    const parent = new Program(program.file, { args: [dataDir, marker] });
    await until(() => parent.said.includes('up'));
    for (const pid of await processesNaming('fairlead-warden'))
      if (isChildOf(pid, parent.process.pid)) process.kill(pid, 'SIGSTOP');
    parent.process.kill('SIGKILL');
    await parent.ended.catch(() => undefined);
    const next = new Supervisor({ dataDir });
    await next.start({
      name: 'other',
      command: process.execPath,
      args: ['-e', SERVE],
      ready: (line) => line.startsWith('ready'),
    });
    expect(await processesNaming(marker)).toEqual([]);
    await next.stop();
    for (const pid of await processesNaming('fairlead-warden')) if (isStopped(pid)) process.kill(pid, 'SIGKILL');
  });
});

const fieldOf = (pid: number, index: number): string | undefined => {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[index];
};
const isChildOf = (pid: number, parent: number | undefined): boolean => fieldOf(pid, 1) === String(parent);
const isStopped = (pid: number): boolean => fieldOf(pid, 0) === 'T';
