import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const NODE = '/ns/default/clusters/demo/nodes/demo-w-1';
const EXEC = `${NODE}/exec`;
const LOGS = `${NODE}/logs`;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const running = {
  ...{ kind: 'NodeExec', id: 'x1', node: 'demo-w-1', state: 'running', exitCode: null, stdout: '', stderr: '' },
  ...{ truncated: false, tookMs: null, message: '' },
};
const finished = {
  ...running,
  ...{ state: 'finished', exitCode: 0, stdout: base64('up 3 days\n'), stderr: base64('a warning\n'), tookMs: 12 },
};

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const node = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'node', ...args]);

describe('fairlead node exec [ORBITER 31]', () => {
  it('prints the output of the command, waits for its end, and does not parse its options', async () => {
    gateway.on('POST', EXEC, { status: 202, body: running });
    gateway.on('GET', `${EXEC}/x1`, { body: finished });
    const { code, stdout, stderr } = await node(
      'exec',
      'demo',
      'demo-w-1',
      '--timeout',
      '2m',
      '--',
      'uptime',
      '--pretty',
    );
    expect([code, stdout, stderr]).toEqual([0, 'up 3 days\n', 'a warning\n']);
    expect(gateway.asked('POST', EXEC)[0]?.body).toEqual({ command: ['uptime', '--pretty'], timeoutSeconds: 120 });
  });

  it('exits with the exit code of the command', async () => {
    gateway.on('POST', EXEC, { body: { ...finished, exitCode: 3 } });
    expect((await node('exec', 'demo', 'demo-w-1', '--', 'false')).code).toBe(3);
    const json = await node('exec', 'demo', 'demo-w-1', '--output', 'json', '--', 'false');
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([3, { exitCode: 3, stdout: 'up 3 days\n', tookMs: 12 }]);
  });

  it('states at Ctrl-C that the command continues, and where to see its end', async () => {
    const io = fakeIo();
    gateway.on('POST', EXEC, { status: 202, body: running });
    gateway.on('GET', `${EXEC}/x1`, () => {
      io.pressCtrlC();
      return { body: running };
    });
    const { code, stderr } = await run(
      ['--server', gateway.url, 'node', 'exec', 'demo', 'demo-w-1', '--', 'sleep', '60'],
      io,
    );
    expect([code, stderr]).toEqual([
      130,
      `Interrupted: The command continues on demo-w-1 until it ends or its time is up
  "fairlead events demo --node demo-w-1" shows how it ends.
`,
    ]);
  });

  it('states that the output was truncated', async () => {
    gateway.on('POST', EXEC, { body: { ...finished, stderr: '', truncated: true } });
    const { stdout, stderr } = await node('exec', 'demo', 'demo-w-1', '--', 'dmesg');
    expect([stdout, stderr]).toEqual([
      'up 3 days\n',
      'Only the first 256 KiB of each of standard output and standard error were kept.\n',
    ]);
  });

  it('fails with advice if the outcome of the command is unknown', async () => {
    gateway.on('POST', EXEC, { body: { ...running, state: 'failed', message: 'its outcome is unknown' } });
    const { code, stderr } = await node('exec', 'demo', 'demo-w-1', '--', 'uptime');
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('its outcome is unknown')]);
    expect(stderr).toContain('Check what it did before you run it again.');
  });

  it('sends nothing without a command', async () => {
    const { code, stderr } = await node('exec', 'demo', 'demo-w-1');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give it after --, e.g. -- uptime.')]);
    expect(gateway.received).toEqual([]);
  });
});

describe('fairlead node exec on several nodes', () => {
  const NODES = '/ns/default/clusters/demo/nodes';
  const onNode = (name: string, more: object = {}): void =>
    void gateway.on('POST', `${NODES}/${name}/exec`, {
      body: { ...finished, node: name, stdout: base64(`one of ${name}\ntwo\n`), stderr: '', ...more },
    });

  it('prefixes each line with the node, and exits with the highest exit code', async () => {
    onNode('demo-w-1');
    onNode('demo-w-2', { exitCode: 3, stderr: base64('no such unit\n') });
    const { code, stdout, stderr } = await node('exec', 'demo', 'demo-w-1,demo-w-2', '--parallel', '1', '--', 'uptime');
    expect(code).toBe(3);
    expect(stdout).toBe('demo-w-1: one of demo-w-1\ndemo-w-1: two\ndemo-w-2: one of demo-w-2\ndemo-w-2: two\n');
    expect(stderr).toBe('demo-w-2: no such unit\ndemo-w-2: exit code 3\n');
  });

  it('selects the nodes of a pool, and passes all words after the cluster as the command', async () => {
    gateway.on('GET', NODES, ({ query }) => {
      expect(query).toEqual({ pool: 'web' });
      return { body: { kind: 'NodeList', items: [{ name: 'demo-w-1' }, { name: 'demo-w-2' }] } };
    });
    onNode('demo-w-1');
    onNode('demo-w-2');
    const { code, stdout } = await node('exec', 'demo', '--pool', 'web', '-o', 'json', '--', 'df', '-h');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'NodeExecList',
      items: [
        { node: 'demo-w-1', exitCode: 0 },
        { node: 'demo-w-2', exitCode: 0 },
      ],
    });
    expect(gateway.asked('POST', `${NODES}/demo-w-2/exec`)[0]?.body).toEqual({ command: ['df', '-h'] });
  });

  it('runs the command on the other nodes if it fails on one', async () => {
    gateway.on('POST', `${NODES}/gone/exec`, refusal(404, 'node.unknown', 'There is no node gone.'));
    onNode('demo-w-2');
    const { code, stdout, stderr } = await node('exec', 'demo', 'gone,demo-w-2', '--', 'uptime');
    expect([code, stdout.split('\n')[0]]).toEqual([5, 'demo-w-2: one of demo-w-2']);
    expect(stderr).toMatch(/^gone: Error: There is no node gone/);
  });

  it('starts no further commands if the token may not run them', async () => {
    gateway.on('POST', `${NODES}/demo-w-1/exec`, refusal(403, 'auth.role-missing', 'It needs the role admin.'));
    onNode('demo-w-2');
    const { code } = await node('exec', 'demo', 'demo-w-1,demo-w-2', '--parallel', '1', '--', 'uptime');
    expect([code, gateway.asked('POST', `${NODES}/demo-w-2/exec`)]).toEqual([4, []]);
  });

  it.each([
    [['--pool', 'web', '--', 'uptime'], 5, 'No node of demo is in the pool web'],
    [['--all'], 2, 'no command is given'],
    [[], 2, 'no node is named'],
  ])('reports missing arguments: %j', async (args, exit, words) => {
    gateway.on('GET', NODES, { body: { kind: 'NodeList', items: [] } });
    gateway.on('GET', '/ns/default/clusters/demo/manifest', { body: { spec: { pools: [{ name: 'web' }] } } });
    const { code, stderr } = await node('exec', 'demo', ...args);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(words)]);
  });
});

describe('fairlead node logs [ORBITER 31]', () => {
  beforeEach(() => {
    gateway.on('GET', LOGS, { body: 'one\ntwo\n' });
  });

  it('prints the lines of a unit within a period', async () => {
    const { code, stdout } = await node(
      'logs',
      'demo',
      'demo-w-1',
      '--unit',
      'containerd',
      '--since',
      '15m',
      '--lines',
      '2',
    );
    expect([code, stdout]).toEqual([0, 'one\ntwo\n']);
    const [asked] = gateway.asked('GET', LOGS);
    expect(asked?.query).toEqual({ unit: 'containerd', sinceSeconds: '900', lines: '2' });
  });

  it('prints the lines of the kubelet by default, and JSON with --output json', async () => {
    const { stdout } = await node('logs', 'demo', 'demo-w-1', '--output', 'json');
    expect(JSON.parse(stdout)).toEqual({ node: 'demo-w-1', unit: 'kubelet', lines: ['one', 'two'] });
  });

  it('refuses an unknown unit, and prints refusals of the server', async () => {
    const unit = await node('logs', 'demo', 'demo-w-1', '--unit', 'secrets');
    expect([unit.code, unit.stderr]).toEqual([2, expect.stringContaining('Allowed choices are kubelet')]);
    gateway.on('GET', LOGS, refusal(404, 'node.unknown', 'No node demo-w-1'));
    expect(await node('logs', 'demo', 'demo-w-1')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('No node'),
    });
  });
});

describe('fairlead node logs --follow [ORBITER 31]', () => {
  const STREAM = `${LOGS}/stream`;
  const event = (type: string, data: unknown): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const streams = (...events: readonly string[]): void =>
    void gateway.on('GET', STREAM, {
      headers: { 'content-type': 'text/event-stream' },
      body: ['retry: 1000\n\n', ...events].join(''),
    });
  const end = (reason: string, message: string): string => event('end', { reason, message });
  const lines = event('lines', { text: 'one\ntwo\n', skipped: 0 });

  it('prints new lines, the number of skipped lines, and that the time limit was reached', async () => {
    streams(lines, event('lines', { text: 'three\n', skipped: 7 }), end('time-limit', 'a log is followed for an hour'));
    const { code, stdout, stderr } = await node('logs', 'demo', 'demo-w-1', '--follow', '--lines', '2');
    expect([code, stdout]).toEqual([0, 'one\ntwo\nthree\n']);
    expect(stderr).toBe(
      '7 lines skipped: the node logs them faster than they can be sent.\n' +
        'The log of demo-w-1 is no longer followed: a log is followed for an hour. Run the command again to go on.\n',
    );
    expect(gateway.asked('GET', STREAM)[0]?.query).toEqual({ lines: '2' });
  });

  it('prints one JSON object per line', async () => {
    streams(lines, end('time-limit', 'it is over'));
    const { stdout } = await node('logs', 'demo', 'demo-w-1', '-f', '--output', 'json');
    const log = { node: 'demo-w-1', unit: 'kubelet' };
    expect(stdout).toBe(['one', 'two'].map((line) => `${JSON.stringify({ ...log, line })}\n`).join(''));
  });

  it('fails with the reason if the server ends the stream', async () => {
    streams(lines, end('failed', 'follow the log of demo-w-1: the connection was lost'));
    const { code, stdout, stderr } = await node('logs', 'demo', 'demo-w-1', '--follow');
    expect([code, stdout]).toEqual([1, 'one\ntwo\n']);
    expect(stderr).toContain('is no longer followed: follow the log of demo-w-1: the connection was lost');
  });

  it('fails if the connection ends without a reason, and does not reconnect', async () => {
    streams(lines);
    const { code, stderr } = await node('logs', 'demo', 'demo-w-1', '--follow');
    expect([code, stderr]).toEqual([3, expect.stringContaining('the connection to the server was lost')]);
    expect(gateway.asked('GET', STREAM)).toHaveLength(1);
  });

  it('prints refusals of the server', async () => {
    gateway.on('GET', STREAM, refusal(409, 'node.follow-busy', '5 logs of nodes of demo are already being followed'));
    const { code, stderr } = await node('logs', 'demo', 'demo-w-1', '--follow');
    expect([code, stderr]).toEqual([6, expect.stringContaining('5 logs of nodes of demo are already being followed')]);
  });
});
