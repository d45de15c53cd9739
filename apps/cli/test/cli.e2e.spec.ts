import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CHECKOUT } from '../src/checkout.js';

/**
 * The command as a user runs it: real processes, real NATS and PostgreSQL, every service, and the lab (a simulation) for the machines. It
 * needs a build (`npm test` makes one).
 */
jest.setTimeout(300_000);

const MAIN = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
const WAIT_MS = 240_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

class Running {
  readonly ended: Promise<Ended>;
  private readonly text = { stdout: '', stderr: '' };

  constructor(readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.text.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.text.stderr += text));
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, ...this.text })));
  }

  async says(words: string): Promise<void> {
    await eventually(() => `${this.text.stdout}${this.text.stderr}`.includes(words) || this.child.exitCode !== null, {
      what: words,
      withinMs: WAIT_MS,
    });
    if (!`${this.text.stdout}${this.text.stderr}`.includes(words))
      throw new Error(`it never said "${words}": ${JSON.stringify(await this.ended)}`);
  }
}

let dataDir: string;
let port: number;

const start = (...args: readonly string[]): Running => {
  const {
    FAIRLEAD_SERVER: _server,
    FAIRLEAD_TOKEN: _token,
    NATS_URL: _nats,
    DATABASE_URL: _database,
    NODE_OPTIONS: _options,
    ...env
  } = process.env;
  return new Running(
    spawn(process.execPath, [MAIN, ...args], {
      cwd: tmpdir(),
      env: { ...env, CI: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
};

const fairlead = (...args: readonly string[]): Promise<Ended> => start(...args, '--data', dataDir).ended;
const up = (...args: readonly string[]): Running =>
  start('up', '--data', dataDir, '--port', String(port), '--delays', 'none', ...args);

/** Fails with everything that was printed, for an exit code alone explains nothing. */
const succeeds = async (ended: Promise<Ended>): Promise<Ended> => {
  const result = await ended;
  if (result.code !== 0) throw new Error(`exit code ${result.code}\n${result.stdout}\n${result.stderr}`);
  return result;
};

/** Every process that has to do with the data folder, by its command line. */
const processesOf = (folder: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => commandLineOf(pid))
    .filter((line) => line.includes(folder));

const commandLineOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // It has ended since.
  }
};

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as AddressInfo;
      server.close(() => resolve(free));
    });
  });

const kubectl = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'kubectl'))
  .find((file) => existsSync(file));

const tar = (...args: readonly string[]): void => void execFileSync('tar', args);

/** The commands of "Backup and restore" in docs/running.md, for an instance that is stopped; it runs after them. */
const backUp = async (): Promise<string> => {
  const folder = newFolder('e2e');
  const kept = ['keys', 'creds', 'secrets'].flatMap((name) => ['--exclude', `./${name}`]);
  tar(
    ...['--create', '--gzip', '--file', join(folder, 'fairlead-data.tar.gz'), '--directory', dataDir],
    ...[...kept, '--exclude', 'KV_SECRET_KEYS', '.'],
  );
  await succeeds(up('--detach').ended);
  await succeeds(fairlead('keys', 'export', '--to', join(folder, 'owner-keys.json')));
  tar(
    '--create',
    '--gzip',
    '--file',
    join(folder, 'fairlead-keys.tar.gz'),
    '--directory',
    dataDir,
    './keys',
    './creds',
  );
  return folder;
};

const restore = (backup: string): string => {
  const folder = newFolder('e2e');
  for (const name of ['fairlead-data.tar.gz', 'fairlead-keys.tar.gz'])
    tar('--extract', '--same-owner', '--file', join(backup, name), '--directory', folder);
  copyFileSync(join(backup, 'owner-keys.json'), join(folder, 'keys', 'owner-keys.json'));
  return folder;
};

beforeAll(async () => {
  dataDir = newFolder('e2e');
  port = await freePort();
});

afterAll(async () => {
  await fairlead('down');
  removeFolder(dataDir);
});

it('makes a cluster of 3 control planes and 2 workers with one command, and leaves nothing running', async () => {
  const { stdout, stderr } = await succeeds(up('--demo', '--once').ended);
  expect(stderr).toContain('demo  Nodes Ready: done 5 of 5');
  expect(stdout).toContain('The cluster demo is Ready. Its machines are simulated');
  expect(statSync(join(dataDir, 'kubeconfigs', 'demo.yaml')).mode & 0o777).toBe(0o600);
  expect(processesOf(dataDir)).toEqual([]);
});

describe('in the background', () => {
  beforeAll(async () => {
    const { stdout } = await succeeds(up('--demo', '--detach').ended);
    expect(stdout).toContain('The cluster demo is Ready');
  });

  it('the demo is the one that was there, not made again', async () => {
    const { stdout } = await succeeds(fairlead('events', 'demo', '--output', 'name'));
    expect(stdout.split('\n').filter((type) => type === 'ClusterRequested')).toHaveLength(1);
  });

  it('answers every question about it', async () => {
    expect((await succeeds(fairlead('cluster', 'list'))).stdout).toMatch(/demo +Running +5\/5 +v1\./);
    expect((await succeeds(fairlead('cluster', 'describe', 'demo'))).stdout).toMatch(/^✔ default\/demo {2}Ready/);
    expect(
      (await succeeds(fairlead('node', 'list', 'demo', '--output', 'name'))).stdout.trimEnd().split('\n'),
    ).toHaveLength(5);
    expect((await succeeds(fairlead('audit', 'demo'))).stdout).toContain('ClusterRequested');
    expect((await succeeds(fairlead('audit', 'verify', 'demo'))).stdout).toContain(
      'no event was changed or is missing',
    );
    const created = await succeeds(fairlead('audit', 'diff', 'demo', '--from', '1'));
    const requested = /ClusterRequested \((\d+)\)/.exec(created.stdout)?.[1];
    if (requested === undefined) throw new Error(`audit diff names no ClusterRequested: ${created.stdout}`);
    const since = await succeeds(fairlead('audit', 'diff', 'demo', '--from', requested));
    expect(since.stdout).toMatch(/Cluster demo +state +Provisioning +Running +ClusterReady \(\d+\)/);
    expect((await succeeds(fairlead('connection', 'list'))).stdout).toContain('a simulation');
    expect((await succeeds(fairlead('quarantine', 'list'))).stdout).toBe('Nothing is quarantined.\n');
    expect((await succeeds(fairlead('version'))).stdout).toMatch(/server +\d/);
    expect((await succeeds(fairlead('__complete', '--', 'cluster', 'get', '', '--data', dataDir))).code).toBe(0);
  });

  it('refuses what cannot be, with a code of its class', async () => {
    expect(await fairlead('cluster', 'get', 'nobody')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('[cluster.unknown]'),
    });
    expect(await fairlead('cluster', 'retry', 'demo')).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('[cluster.not-failed]'),
    });
    const even = [
      'cluster',
      'create',
      'even',
      '--control-planes',
      '2',
      '--connection',
      'lab',
      '--machine-type',
      'lab.medium',
    ];
    expect(await fairlead(...even)).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('[cluster.control-plane-even]'),
    });
    const huge = ['cluster', 'create', 'huge', '--connection', 'lab', '--machine-type', 'lab.galactic'];
    expect(await fairlead(...huge)).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('[cluster.spec-unknown]'),
    });
  });

  it('does not open for a wrong token', async () => {
    const other = start('--server', `http://127.0.0.1:${port}`, '--token-file', '/etc/hostname', 'cluster', 'list');
    expect((await other.ended).code).toBe(4);
  });

  it('gives a kubeconfig that kubectl takes', async () => {
    if (kubectl === undefined) {
      process.stderr.write('kubectl is not on PATH: not tried with it\n');
      return;
    }
    const file = join(dataDir, 'kubeconfigs', 'demo.yaml');
    const nodes = await succeeds(
      new Running(spawn(kubectl, ['--kubeconfig', file, 'get', 'nodes', '--no-headers'])).ended,
    );
    expect(nodes.stdout.match(/ Ready /g)).toHaveLength(5);
  });

  it('adds a worker, removes it, and watches both', async () => {
    await succeeds(fairlead('node', 'add', 'demo', '--wait'));
    const names = (await succeeds(fairlead('node', 'list', 'demo', '--output', 'name'))).stdout.trimEnd().split('\n');
    const added = names.find((name) => name.includes('-w-3-')) ?? 'none was added';
    expect((await succeeds(fairlead('node', 'remove', 'demo', added, '--yes', '--wait'))).stdout).toBe(
      `The node ${added} is removed.\n`,
    );
    expect(
      (await succeeds(fairlead('node', 'list', 'demo', '--output', 'name'))).stdout.trimEnd().split('\n'),
    ).toHaveLength(5);
  });

  it('makes and deletes a cluster of one node, and keeps its history', async () => {
    const create = [
      'cluster',
      'create',
      'small',
      '--control-planes',
      '1',
      '--workers',
      '0',
      '--connection',
      'lab',
      '--machine-type',
      'lab.medium',
    ];
    expect((await succeeds(fairlead(...create, '--wait'))).stdout).toContain('Running');
    expect((await succeeds(fairlead('cluster', 'delete', 'small', '--yes', '--wait'))).stdout).toContain(
      'only its history is kept',
    );
    expect((await fairlead('cluster', 'get', 'small')).code).toBe(5);
    expect((await succeeds(fairlead('events', 'small', '--output', 'name'))).stdout).toContain('ClusterDeleted');
  });

  it('is not started twice from one folder, nor on a port that is taken', async () => {
    expect(await up().ended).toMatchObject({ code: 6, stderr: expect.stringContaining('already running') });
    const other = newFolder('e2e');
    try {
      const refused = await start('up', '--data', other, '--port', String(port)).ended;
      expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining(`Port ${port} on 127.0.0.1`) });
    } finally {
      removeFolder(other);
    }
  });

  it('ends with down, and down again finds nothing to do', async () => {
    expect((await succeeds(fairlead('down'))).stderr).toContain('Stopped the Fairlead');
    expect(processesOf(dataDir)).toEqual([]);
    expect((await succeeds(fairlead('down'))).stderr).toContain('Fairlead is not running here');
    expect((await fairlead('cluster', 'list')).code).toBe(3);
  });

  it('is in the same state when its backup was restored into an empty folder, and adds a node to its cluster [azimuth 28]', async () => {
    const backup = await backUp();
    const questions = [
      ['cluster', 'list'],
      ['cluster', 'get', 'demo'],
      ['node', 'list', 'demo'],
      ['events', 'demo'],
      ['export', 'demo'],
    ];
    const answers = async (): Promise<readonly string[]> =>
      Promise.all(
        questions.map(async (question) => (await succeeds(fairlead(...question, '--output', 'json'))).stdout),
      );
    const before = await answers();
    await succeeds(fairlead('down'));
    removeFolder(dataDir);
    dataDir = restore(backup);
    removeFolder(backup);
    await succeeds(up('--detach').ended);
    expect(await answers()).toEqual(before);
    await succeeds(fairlead('node', 'add', 'demo', '--wait'));
    await succeeds(fairlead('down'));
  });
});

it('waits for the end of a manifest on standard input, and ends at Ctrl-C', async () => {
  const child = spawn(process.execPath, [MAIN, 'apply', '-f', '-'], { cwd: tmpdir(), stdio: 'pipe' });
  const running = new Running(child);
  // More than a pipe holds: it is written once it is being read.
  await new Promise((resolve) => child.stdin.write(`# ${'x'.repeat(1_000_000)}\n`, resolve));
  child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('Interrupted') });
});

it('serves until Ctrl-C, and ends then in good order with 0, whoever holds a connection open', async () => {
  const running = up();
  await running.says('Fairlead is ready.');
  const idle = connect(port, '127.0.0.1').on('error', () => undefined); // As browsers do, in advance.
  await new Promise((resolve) => idle.once('connect', resolve));
  running.child.kill('SIGINT');
  const ended = await running.ended;
  idle.destroy();
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing is left running') });
  expect(processesOf(dataDir)).toEqual([]);
});

it('that was killed leaves nothing running, and down and up find their way', async () => {
  const running = up();
  await running.says('Fairlead is ready.');
  running.child.kill('SIGKILL');
  await running.ended;
  await eventually(() => processesOf(dataDir).length === 0, {
    what: 'its wardens end what it started',
    withinMs: WAIT_MS,
  });
  expect((await succeeds(fairlead('down'))).stderr).toContain('was not running any more');
  const again = up();
  await again.says('Fairlead is ready.');
  again.child.kill('SIGTERM');
  expect((await again.ended).code).toBe(0);
});
