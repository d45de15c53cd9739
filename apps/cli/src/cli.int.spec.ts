import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sample } from './progress/operation.fixtures.js';
import { Story, WORKERS } from './spec/story.fixtures.js';
import { clusterView, FakeGateway, refusal } from './spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from './spec/io.fixtures.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let gateway: FakeGateway;
let folder: string;
let happening: Story;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  happening = new Story();
  folder = newFolder('cli');
});

afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

const DEMO = '/ns/default/clusters/demo';

/** The gateway answers for the cluster demo as it does at a moment of its life, and listeners are notified that something happened. */
const reach = (moment: string): void => {
  const { cluster, operations } = sample(moment);
  gateway.on('GET', `${DEMO}/operations`, { body: { items: operations } });
  gateway.on('GET', DEMO, cluster === null ? refusal(404, 'cluster.unknown', 'There is none') : { body: cluster });
  gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [] } });
  gateway.state(happening.at(gateway.events.length, 'VmCreated').events.at(-1)!);
};

describe('the server and its token', () => {
  const instance = (server: string): string => {
    const dataDir = join(folder, '.fairlead');
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, 'local.token'), 'local-token\n', { mode: 0o600 });
    writeFileSync(
      join(dataDir, 'instance.json'),
      JSON.stringify({
        format: 1,
        server,
        tokenFile: join(dataDir, 'local.token'),
        dataDir,
        process: { pid: 1, birth: null },
        startedAt: '2026-11-21T08:00:00.000Z',
        version: '0.1.0',
      }),
      { mode: 0o600 },
    );
    return dataDir;
  };

  it('are those of the local instance, found from any folder below it', async () => {
    instance(gateway.url);
    gateway.on('GET', '/ns/default/clusters', { body: { items: [] } });
    const below = join(folder, 'a', 'b');
    mkdirSync(below, { recursive: true });
    const { code, stdout } = await run(['cluster', 'list'], fakeIo({ cwd: below }));
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'There are no clusters in this namespace.\n' });
    expect(gateway.received[0]?.headers.authorization).toBe('Bearer local-token');
  });

  it('never go together when another server was named', async () => {
    instance('http://127.0.0.1:1');
    gateway.on('GET', '/ns/default/clusters', { body: { items: [] } });
    await ask(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(gateway.received[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['instance.json', 0o620, (dataDir: string) => join(dataDir, 'instance.json')],
    ['the folder', 0o777, (dataDir: string) => dataDir],
    ['the token', 0o666, (dataDir: string) => join(dataDir, 'local.token')],
  ])('are not those of a folder where others may write %s; nothing is sent', async (_what, mode, pathIn) => {
    const dataDir = instance(gateway.url);
    chmodSync(pathIn(dataDir), mode);
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(4);
    expect(stderr).toContain(`The instance folder is not trusted: ${pathIn(dataDir)} can be written by other users`);
    expect(gateway.received).toEqual([]);
  });

  (process.getuid?.() === 0 ? it : it.skip)('are not those of another user, not even for root', async () => {
    const dataDir = instance(gateway.url);
    chownSync(dataDir, 12_345, 12_345);
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(4);
    expect(stderr).toContain(`${dataDir} belongs to user 12345, and this is user 0`);
    expect(gateway.received).toEqual([]);
  });

  it('come from the environment too', async () => {
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [] } });
    const env = { FAIRLEAD_SERVER: gateway.url, FAIRLEAD_TOKEN: 'from-env', FAIRLEAD_NAMESPACE: 'team-a' };
    expect((await run(['cluster', 'list'], fakeIo({ env }))).code).toBe(0);
    expect(gateway.received[0]?.headers.authorization).toBe('Bearer from-env');
  });

  it('that do not exist end with 3, and what to do', async () => {
    expect(await run(['cluster', 'list', '--data', folder], fakeIo())).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Start one with "fairlead up"'),
    });
  });

  it('whose instance has ended end with 3, and name its folder', async () => {
    const dataDir = instance('http://127.0.0.1:1');
    const { code, stderr } = await run(['cluster', 'list'], fakeIo({ cwd: folder }));
    expect(code).toBe(3);
    expect(stderr).toContain(`The Fairlead of ${dataDir} has ended; start it again`);
  });

  it('that cannot be read end with 4', async () => {
    const { code, stderr } = await ask(['cluster', 'list', '--token-file', join(folder, 'none')]);
    expect(code).toBe(4);
    expect(stderr).toContain('it does not exist');
  });

  it('are distinguished from a server that is no gateway', async () => {
    gateway.on('GET', '/ns/default/clusters', { body: '<html>' });
    const { code, stderr } = await ask(['cluster', 'list']);
    expect(code).toBe(1);
    expect(stderr).toContain('does not answer as a Fairlead gateway does');
  });
});

describe('a refusal', () => {
  it.each([
    [401, 'auth.token-missing', 4],
    [403, 'auth.role-missing', 4],
    [404, 'cluster.unknown', 5],
    [409, 'cluster.name-taken', 6],
    [400, 'cluster.name-invalid', 7],
    [422, 'cluster.spec-unknown', 7],
    [503, 'system.unavailable', 3],
  ])('of HTTP %d (%s) ends with %d and the message of the server', async (status, reason, exit) => {
    gateway.on('GET', '/ns/default/clusters/demo', refusal(status, reason, 'No, because.'));
    expect(await ask(['cluster', 'get', 'demo'])).toEqual({
      code: exit,
      stdout: '',
      stderr: `Error: No, because. [${reason}]\n  What can be done.\n`,
    });
  });

  it('names the field, and everything else that is wrong, each sentence once', async () => {
    const field = 'config.kubernetes.podCidr';
    const first = { reason: 'cluster.pod-cidr', message: 'First.', field, help: 'See GET /ns.' };
    const second = { reason: 'cluster.name', message: 'Second.', help: '' };
    const again = { ...second, field: 'worker[1].name' };
    const errors = [first, second, { ...second, field: 'worker[0].name' }, again];
    gateway.on('POST', '/ns/default/clusters', refusal(400, first.reason, first.message, { ...first, errors }));
    expect((await ask(['cluster', 'create', 'demo', '--connection', 'lab', '--spec', 's'])).stderr).toBe(
      'Error: First. [cluster.pod-cidr]\n  at config.kubernetes.podCidr\n  See "fairlead namespace list".\n' +
        'Error: Second. [cluster.name]\n  at worker[0].name, worker[1].name\n',
    );
    const { stderr } = await ask(['cluster', 'create', 'demo', '--connection', 'lab', '--spec', 's', '-o', 'json']);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { field, further: [{ code: 'cluster.name' }, { field: 'worker[0].name' }, { field: 'worker[1].name' }] },
    });
  });

  it('is JSON on standard error when JSON was asked for', async () => {
    gateway.on('GET', '/ns/default/clusters/demo', refusal(404, 'cluster.unknown', 'No such cluster'));
    const { stdout, stderr } = await ask(['cluster', 'get', 'demo', '-o', 'json']);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'cluster.unknown',
        message: 'No such cluster',
        help: 'What can be done.',
        exitCode: 5,
        class: 'not-found',
      },
    });
  });

  it('by something in between is reported with its status', async () => {
    gateway.on('GET', '/ns/default/clusters/demo', { status: 502, body: '<html>Bad Gateway' });
    expect(await ask(['cluster', 'get', 'demo'])).toMatchObject({ code: 3, stderr: expect.stringContaining('502') });
  });
});

describe('cluster', () => {
  it('list prints a table, and the same whole as JSON', async () => {
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [clusterView({ namespace: 'team-a' })] } });
    expect((await ask(['cluster', 'list', '-n', 'team-a'])).stdout).toBe(
      'NAME   PHASE         STATE     READY   VERSION   AGE     STATUS\ndemo   Provisioned   Running   5/5     v1.34.4   1h00m   -\n',
    );
    expect(JSON.parse((await ask(['cluster', 'list', '-n', 'team-a', '-o', 'json'])).stdout)).toMatchObject([
      { name: 'demo' },
    ]);
  });

  it('list -A prints the clusters of every namespace that the token can read', async () => {
    gateway.on('GET', '/ns', { body: { items: [{ name: 'default' }, { name: 'team-a' }] } });
    gateway.on('GET', '/ns/default/clusters', { body: { items: [clusterView()] } });
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [clusterView({ namespace: 'team-a', name: 'shop' })] } });
    const { stdout } = await ask(['cluster', 'list', '-A']);
    expect(stdout.split('\n').map((line) => line.split(/ +/).slice(0, 2))).toEqual([
      ['NAMESPACE', 'NAME'],
      ['default', 'demo'],
      ['team-a', 'shop'],
      [''],
    ]);
    expect((await ask(['cluster', 'list', '-A', '-o', 'name'])).stdout).toBe('default/demo\nteam-a/shop\n');
    expect((await ask(['cluster', 'list', '-A', '-n', 'team-a'])).code).toBe(2);
  });

  it('create without a file names the options that it needs', async () => {
    const { code, stderr } = await ask(['cluster', 'create', 'demo', '--spec', 'lab.medium']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('A cluster needs --connection and --spec, or a file')]);
  });

  it('create sends the file of standard input, with an idempotency key', async () => {
    gateway.on('POST', '/ns/default/clusters', {
      status: 202,
      headers: { 'x-fairlead-seq': '101' },
      body: clusterView(),
    });
    const stdin = 'name: demo\ncontrolPlane: [{ connection: lab, count: 1, spec: s }]\n';
    const { code, stderr } = await ask(['cluster', 'create', '-f', '-'], fakeIo({ stdin }));
    expect(code).toBe(0);
    expect(stderr).toContain('fairlead events demo --follow');
    const [request] = gateway.asked('POST', '/ns/default/clusters');
    expect(request?.body).toEqual({ name: 'demo', controlPlane: [{ connection: 'lab', count: 1, spec: 's' }] });
    expect(request?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('create waits for the answer of a request with the same key that is under way', async () => {
    const underWay = {
      kind: 'Status',
      code: 409,
      reason: 'idempotency.in-progress',
      message: 'It is worked on',
      help: '',
    };
    let asked = 0;
    gateway.on('POST', '/ns/default/clusters', () => {
      asked += 1;
      return asked < 3 ? { status: 409, body: underWay } : { status: 202, body: clusterView() };
    });
    const stdin = 'name: demo\ncontrolPlane: [{ connection: lab, count: 1, spec: s }]\n';
    const { code, stderr } = await ask(['cluster', 'create', '-f', '-'], fakeIo({ stdin }));
    expect([code, stderr, asked]).toEqual([0, expect.not.stringContaining('worked on'), 3]);
    const keys = gateway.asked('POST', '/ns/default/clusters').map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys.slice(-3)).size).toBe(1);
  });

  it('describe draws the latest operation with all nodes of the cluster', async () => {
    reach('ready');
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toMatch(/^✔ default\/demo {2}Ready, v1.34.4, took \d+s\n/);
    expect(stdout).toContain('3 control planes  Ready v1.34.4');
  });

  it('describe begins with the state of a cluster that does not run as it should', async () => {
    reach('ready');
    const { cluster } = sample('ready');
    const status = { ...cluster?.status, state: 'Degraded', reasons: ['AddonsFailed'] };
    gateway.on('GET', DEMO, { body: { ...cluster, status } });
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toMatch(/^▲ default\/demo {2}Degraded, v1.34.4\n/);
  });

  it('describe lists earlier operations, and draws them on request', async () => {
    reach('added');
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toContain('6 of 6 Ready');
    expect(stdout).toMatch(/Before that:\n {2}\S+ {2}create: Ready, took \d+s, requested by /);
    expect((await ask(['cluster', 'describe', 'demo', '--all'])).stdout).toMatch(/\n\n✔ default\/demo {2}Ready/);
  });

  it('describe answers --output json with the views of the server', async () => {
    reach('hosts');
    const { operations } = sample('hosts');
    expect(JSON.parse((await ask(['cluster', 'describe', 'demo', '-o', 'json'])).stdout)).toMatchObject({
      operations,
      upgrades: [],
    });
  });

  it('describe shows how the latest upgrade ended, and no dry run', async () => {
    reach('ready');
    const upgrade = {
      id: 'u-8f3k2m9q',
      mode: 'ask',
      target: { kubernetes: 'v1.35.4', renewCertificates: false, reboot: false },
      phase: 'Completed',
      message: '',
      requestedAt: '2026-11-21T08:00:00.000Z',
      actor: 'user/ada',
    };
    gateway.on('GET', `${DEMO}/upgrades`, {
      body: { items: [{ ...upgrade, id: 'u-whatif', mode: 'dry-run' }, upgrade] },
    });
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toContain('u-8f3k2m9q, Kubernetes to v1.35.4: Completed, requested by user/ada');
    expect(stdout).not.toContain('u-whatif');
  });

  it('describe shows the objects as they were at a sequence or a time, and refuses what is neither [Cluster API 31]', async () => {
    gateway.on('GET', DEMO, { body: clusterView() });
    for (const moment of ['4711', '2026-11-21T09:00:00+01:00']) {
      const { code, stdout } = await ask(['cluster', 'describe', 'demo', '--at', moment]);
      expect([code, stdout.split('\n')[0]]).toEqual([0, expect.stringContaining('default/demo')]);
    }
    const queries = gateway.asked('GET', DEMO).map(({ query }) => query['at']);
    expect(queries.slice(-2)).toEqual(['4711', '2026-11-21T08:00:00.000Z']);
    const { code, stderr } = await ask(['cluster', 'describe', 'demo', '--at', 'yesterday']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give a sequence of the log like 4711, or a time')]);
  });

  it('describe works for a cluster that is gone', async () => {
    reach('deleted');
    gateway.on('GET', `${DEMO}/upgrades`, refusal(404, 'cluster.unknown', 'There is none'));
    expect((await ask(['cluster', 'describe', 'demo'])).stdout).toMatch(/^✔ default\/demo {2}Deleted, took/);
  });

  it('describe of a name that never was ends with 5', async () => {
    gateway.on('GET', '/ns/default/clusters/nobody/operations', refusal(404, 'cluster.unknown', 'There is none'));
    expect((await ask(['cluster', 'describe', 'nobody'])).code).toBe(5);
  });

  it('describe says which service is not heard of, and that the disk of the log is low', async () => {
    reach('ready');
    gateway.on('GET', '/readyz', {
      body: {
        status: 'degraded',
        services: { 'infra-svc': 'not heard for 34 s; what it does waits', 'upgrade-svc': 'ok' },
        alarms: { disk: 'only 5.0 MiB are left to the event log' },
      },
    });
    expect((await ask(['cluster', 'describe', 'demo'])).stderr).toBe(
      'infra-svc: not heard for 34 s; what it does waits\ndisk: only 5.0 MiB are left to the event log\n',
    );
  });
});

describe('waiting', () => {
  const accepted = (path: string, method = 'POST', seq = 1): void => {
    gateway.on(method, path, { status: 202, headers: { 'x-fairlead-seq': String(seq) }, body: clusterView() });
  };
  const create = ['cluster', 'create', 'demo', '--connection', 'lab', '--spec', 's', '--wait'];

  it('says what happens, line by line, and ends with 0 when it is done', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    reach('initialised');
    reach('ready');
    const { code, stdout, stderr } = await running;
    expect(code).toBe(0);
    expect(stdout).toContain('Provisioned');
    expect(stderr).toContain('  demo  kubeadm init: done (demo-cp-1), 1.0s\n');
    expect(stderr.trimEnd().endsWith('demo  Ready')).toBe(true);
    await eventually(() => gateway.listeners === 0);
  });

  it('draws the tree on a terminal, and leaves its end there', async () => {
    accepted('/ns/default/clusters');
    reach('ready');
    const io = fakeIo({ isLive: true });
    expect((await ask(create, io)).code).toBe(0);
    expect(io.drawn().at(-1)?.split('\n')[0]).toMatch(/^✔ default\/demo {2}Ready, v1.34.4, took \d+s$/);
    expect(io.stderr()).toBe('');
  });

  it('goes on where it was after the connection is lost: nothing missed, nothing twice', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    for (const moment of ['machines', 'hosts', 'initialised', 'joining', 'workers', 'ready']) {
      gateway.cutStreams();
      reach(moment); // It happens while the client is away.
      if (moment !== 'ready') await eventually(() => gateway.listeners === 1);
    }
    const { code, stderr } = await running;
    expect(code).toBe(0);
    const lines = stderr.trimEnd().split('\n');
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.length).toBe(17);
  });

  it('asks again when the tables of the server are late', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const running = ask(create);
    await eventually(() => gateway.listeners === 1);
    let late = 2;
    gateway.on('GET', `${DEMO}/operations`, () => {
      late -= 1;
      if (late >= 0) return refusal(503, 'wait.too-long', 'They are late');
      return { body: { items: sample('ready').operations } };
    });
    gateway.on('GET', DEMO, { body: clusterView() });
    gateway.state(happening.at(100, 'ClusterReady').events.at(-1)!);
    expect((await running).code).toBe(0);
  });

  it('ends with 1 and the cause when it failed', async () => {
    accepted('/ns/default/clusters');
    reach('failed');
    const { code, stderr } = await ask(create);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Error: kubeadm init on demo-cp-1 failed: timed out waiting for the condition [InitControlPlaneFailedReason]',
    );
    expect(stderr).toContain('"fairlead cluster retry demo" goes on from that step');
  });

  describe('where a creation that fails is cleaned up', () => {
    /** The creation has failed, and its deletion has come so far. */
    const cleaned = (change: object | undefined): void => {
      const [creation] = sample('failed').operations;
      const deletion = { ...sample('deleted').operations.at(-1)!, seq: creation!.seq + 1, ...change };
      const items = change === undefined ? [creation] : [creation, deletion];
      gateway.on('GET', `${DEMO}/operations`, { body: { items } });
      gateway.on('GET', DEMO, { body: { ...sample('failed').cluster, onFailure: 'cleanup' } });
      gateway.state(happening.at(gateway.events.length, 'VmCreated').events.at(-1)!);
    };
    const CAUSE = 'kubeadm init on demo-cp-1 failed: timed out waiting for the condition';

    it('waits for the end of the cleanup, and ends with 1, the cause, and that everything is deleted', async () => {
      accepted('/ns/default/clusters');
      cleaned(undefined);
      const running = ask(create);
      await eventually(() => gateway.listeners === 1);
      cleaned({});
      const { code, stderr } = await running;
      expect(code).toBe(1);
      expect(stderr).toContain(`Error: ${CAUSE}`);
      expect(stderr).toContain('Everything that was created has been deleted (onFailure: cleanup)');
      expect(stderr).toContain('demo  Deleted');
    });

    it('says so when the cleanup fails, and when it takes longer than may be waited', async () => {
      accepted('/ns/default/clusters');
      cleaned({ phase: 'Failed', reason: 'DeleteMachinesFailedReason', message: 'the provider does not answer' });
      const failed = await ask(create);
      expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(`Error: ${CAUSE}`)]);
      expect(failed.stderr).toContain('could not be deleted (onFailure: cleanup): the provider does not answer');
      cleaned(undefined);
      const late = await ask([...create, '--timeout', '1s']);
      expect([late.code, late.stderr]).toEqual([1, expect.stringContaining(`Error: ${CAUSE}`)]);
      expect(late.stderr).toContain('What was created is being deleted (onFailure: cleanup)');
    });
  });

  it('does not take the end of an earlier operation for that of its own', async () => {
    const { operations } = sample('deleted');
    const [creation, deletion] = operations;
    reach('ready');
    accepted(DEMO, 'DELETE', deletion!.seq);
    gateway.on('GET', `${DEMO}/operations`, ({ query }) => ({
      body: { items: Number(query['minSeq']) >= deletion!.seq ? operations : [creation] },
    }));
    const { code, stdout, stderr } = await ask(['cluster', 'delete', 'demo', '--yes', '--wait']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'The cluster demo is deleted; only its history is kept.\n',
    });
    expect(stderr).not.toContain('kubeadm init');
    expect(stderr.trimEnd().endsWith('demo  Deleted')).toBe(true);
  });

  it('ends with 8 when it takes too long, and says that the server goes on', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const { code, stderr } = await ask([...create, '--timeout', '200ms']);
    expect(code).toBe(8);
    expect(stderr).toContain('Not done within 0.2s: the cluster demo continues on the server');
  });

  it('ends with 8 although garbage is collected while nothing happens', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const collecting = setInterval(collectGarbage, 100);
    try {
      expect((await ask([...create, '--timeout', '500ms'])).code).toBe(8);
    } finally {
      clearInterval(collecting);
    }
  });

  it('ends with 130 at Ctrl-C, and says that the server goes on', async () => {
    accepted('/ns/default/clusters');
    reach('requested');
    const io = fakeIo();
    const running = ask(create, io);
    await eventually(() => gateway.listeners === 1);
    io.pressCtrlC();
    expect(await running).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('Stopped watching: the cluster demo continues on the server'),
    });
    expect(gateway.asked('DELETE', '/ns/default/clusters/demo')).toEqual([]);
  });
});

it('ends at Ctrl-C also while the server does not answer', async () => {
  gateway.on('GET', '/ns/default/clusters', () => 'never');
  const io = fakeIo();
  const running = ask(['cluster', 'list'], io);
  await eventually(() => gateway.received.length === 1);
  io.pressCtrlC();
  expect((await running).code).toBe(130);
});

describe('node', () => {
  const worker = {
    name: WORKERS[0],
    role: 'worker',
    connection: 'lab',
    spec: 'lab.small',
    phase: 'Ready',
    software: { kubelet: '1.34.4' },
    publicIp: '127.1.1.1',
    createdTime: '',
    reason: '',
    updatesDisabled: null,
  };

  it('list shows where each node is', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    expect((await ask(['node', 'list', 'demo'])).stdout).toContain(
      'demo-w-1-p4t6z   Ready   worker   v1.34.4   lab.small   127.1.1.1',
    );
  });

  it('list asks for the nodes of pools and with labels', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    const zone = 'topology.kubernetes.io/zone=lab-1a';
    const { code } = await ask([
      'node',
      'list',
      'demo',
      '--pool',
      'web',
      '--pool',
      'control-plane',
      '-l',
      `tier=a,${zone}`,
    ]);
    expect([code, gateway.asked('GET', '/ns/default/clusters/demo/nodes').map(({ query }) => query)]).toEqual([
      0,
      [{ pool: 'web,control-plane', labelSelector: `tier=a,${zone}` }],
    ]);
  });

  it('list shows which nodes are extra while an upgrade runs, and which are held', async () => {
    const [name, extra] = WORKERS;
    const items = [
      { ...worker, name },
      { ...worker, name: extra, extraFor: 'u-8f3k2m9q01', reason: 'kubelet stopped posting' },
      { ...worker, name: 'demo-w-3-h7n2b', updatesDisabled: 'a course runs' },
    ];
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items } });
    const { stdout } = await ask(['node', 'list', 'demo']);
    expect(stdout.split('\n').map((line) => line.split(/ {3,}/).at(-1))).toEqual([
      'STATUS',
      '-',
      'kubelet stopped posting; extra until the upgrade ends',
      'held: a course runs',
      '',
    ]);
  });

  it('add asks for workers like those that there are', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    gateway.on('POST', '/ns/default/clusters/demo/nodes', {
      status: 202,
      headers: { 'x-fairlead-seq': '200' },
      body: {},
    });
    expect((await ask(['node', 'add', 'demo', '--count', '2'])).code).toBe(0);
    expect(gateway.asked('POST', '/ns/default/clusters/demo/nodes')[0]?.body).toEqual({
      worker: [{ count: 2, connection: 'lab', spec: 'lab.small' }],
    });
  });

  it('remove names the node', async () => {
    gateway.on('DELETE', `/ns/default/clusters/demo/nodes/${WORKERS[0]}`, {
      status: 202,
      headers: { 'x-fairlead-seq': '200' },
      body: {},
    });
    expect((await ask(['node', 'remove', 'demo', WORKERS[0], '--yes'])).stdout).toBe(
      `The node ${WORKERS[0]} is being removed.\n`,
    );
  });
});

describe('kubeconfig', () => {
  const text = 'apiVersion: v1\nclusters: [{ name: demo, cluster: {} }]\nusers: [{ name: admin, user: {} }]\n';

  beforeEach(() => void gateway.on('GET', '/ns/default/clusters/demo/kubeconfig', { body: text }));

  it('goes to standard output', async () => expect((await ask(['kubeconfig', 'demo'])).stdout).toBe(text));

  it('goes into a file that only its owner may read', async () => {
    const file = join(folder, 'demo.yaml');
    expect((await ask(['kubeconfig', 'demo', '-o', file])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is not written to a file that is named like an output format', async () => {
    const { code, stderr } = await ask(['kubeconfig', 'demo', '-o', 'yaml'], fakeIo({ cwd: folder }));
    expect([code, stderr]).toEqual([2, expect.stringContaining('-o names a file here, and yaml is an output format')]);
    expect(existsSync(join(folder, 'yaml'))).toBe(false);
  });

  it.each(['1m', '25h', 'soon'])('is not asked for with a lifetime of %s', async (ttl) => {
    const { code, stderr } = await ask(['kubeconfig', 'demo', '--ttl', ttl]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give a duration from 10m to 24h')]);
  });

  it('is asked for with the time that its certificate is to be valid, or as the administrator', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig', ({ query }) => ({ body: `ttl ${query['ttlSeconds']}` }));
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig/administrator', { body: 'all' });
    expect((await ask(['kubeconfig', 'demo', '--ttl', '30m'])).stdout).toContain('ttl 1800');
    expect((await ask(['kubeconfig', 'demo', '--administrator'])).stdout).toContain('all');
    expect((await ask(['kubeconfig', 'demo', '--administrator', '--ttl', '30m'])).stderr).toContain(
      'exclude each other',
    );
  });

  it('of users who sign in by OpenID Connect has no certificate, and no time', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/kubeconfig/oidc', { body: 'exec' });
    expect((await ask(['kubeconfig', 'demo', '--oidc'])).stdout).toContain('exec');
    for (const other of [['--ttl', '30m'], ['--administrator']])
      expect((await ask(['kubeconfig', 'demo', '--oidc', ...other])).stderr).toContain(`and ${other[0]} exclude each`);
  });

  it('is merged into the file that kubectl uses', async () => {
    const file = join(folder, 'config');
    const { stdout } = await ask(['kubeconfig', 'demo', '--merge'], fakeIo({ env: { KUBECONFIG: `${file}:/other` } }));
    expect(stdout).toContain('the current context is default-demo');
    expect(readFileSync(file, 'utf8')).toContain('current-context: default-demo');
  });
});

describe('the others', () => {
  it('token create prints the token alone, for a file', async () => {
    gateway.on('POST', '/tokens', {
      status: 201,
      body: { id: 't1', name: 'ci', roles: [], createdTime: '', token: 'flt_secret' },
    });
    const { stdout } = await ask([
      'token',
      'create',
      'ci',
      '--role',
      'team-a=operator',
      '--role',
      'viewer',
      '-o',
      'name',
    ]);
    expect(stdout).toBe('flt_secret\n');
    expect(gateway.received[0]?.body).toEqual({
      name: 'ci',
      roles: [
        { namespace: 'team-a', role: 'operator' },
        { namespace: '*', role: 'viewer' },
      ],
    });
  });

  it('token create asks for a token that ends, and token list shows when', async () => {
    const expiresAt = new Date(Date.now() - 1_000).toISOString();
    const token = { id: 't1', name: 'ci', roles: [], createdTime: '' };
    gateway.on('POST', '/tokens', { status: 201, body: { ...token, token: 'flt_secret' } });
    await ask(['token', 'create', 'ci', '--role', 'viewer', '--expires-in', '30d']);
    const { expiresAt: asked } = gateway.received[0]?.body as { readonly expiresAt: string };
    expect(Math.abs(Date.parse(asked) - Date.now() - 30 * 86_400_000)).toBeLessThan(60_000);
    gateway.on('GET', '/tokens', { body: { items: [{ ...token, expiresAt }, token] } });
    const { stdout } = await ask(['token', 'list']);
    expect(stdout).toContain(`${expiresAt} (ended)`);
    expect(stdout).toContain('never');
  });

  it('connection set sends the secret apart from the command line', async () => {
    gateway.on('PUT', '/connections/lab2', {
      body: { name: 'lab2', provider: 'lab', region: 'r', zone: 'z', verified: null, problem: '', settings: {} },
    });
    await ask(
      [
        'connection',
        'set',
        'lab2',
        '--provider',
        'lab',
        '--setting',
        'endpoint=http://x?a=b',
        '--secret-file',
        '-',
        '--no-wait',
      ],
      fakeIo({ stdin: 'hush\n' }),
    );
    expect(gateway.received[0]?.body).toEqual({
      provider: 'lab',
      settings: { endpoint: 'http://x?a=b', token: 'hush' },
    });
  });

  it('connection set reads an inventory of hosts from a file', async () => {
    const folder = newFolder('cli');
    try {
      const file = join(folder, 'site.yaml');
      writeFileSync(file, 'apiAddress: 198.51.100.10\nhosts:\n  - { name: rack-1, address: 198.51.100.11 }\n');
      const body = { name: 'site', provider: 'ssh', region: '', zone: '', verified: null, problem: '', settings: {} };
      gateway.on('PUT', '/connections/site', { body });
      const set = [
        'connection',
        'set',
        'site',
        '--provider',
        'ssh',
        '--settings-file',
        file,
        '--secret-file',
        '-',
        '--no-wait',
      ];
      await ask(set, fakeIo({ stdin: 'key\n' }));
      expect(gateway.received[0]?.body).toEqual({
        provider: 'ssh',
        settings: { apiAddress: '198.51.100.10', hosts: [{ name: 'rack-1', address: '198.51.100.11' }], token: 'key' },
      });
      writeFileSync(file, '- a list\n');
      expect((await ask(set, fakeIo({ stdin: 'key\n' }))).code).toBe(2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe('connection set waits until it is known what the connection offers', () => {
    const settings = { name: 'site', provider: 'ssh', region: '', zone: '', settings: {} };
    const at = '2026-11-21T09:00:00.000Z';
    const verified = { at, zones: ['z'], specs: 3, nlb: false, simulated: false };
    const unknown = { ...settings, verified: null, checkedTime: null, problem: '' };
    const set = ['connection', 'set', 'site', '--provider', 'ssh'];

    const answers = (before: unknown, ...looks: readonly unknown[]): void => {
      let count = 0;
      gateway.on('PUT', '/connections/site', { body: before });
      gateway.on('GET', '/connections/site', () => ({ body: looks[Math.min(count++, looks.length - 1)] }));
    };

    it('and says what was found', async () => {
      answers(unknown, unknown, unknown, { ...settings, verified, checkedTime: at, problem: '' });
      const { code, stdout } = await ask(set);
      expect(code).toBe(0);
      expect(stdout).toMatch(/site +ssh +- +- +3 +reached/);
      expect(gateway.asked('GET', '/connections/site').length).toBe(3);
    });

    it('and ends with 1 and the error of the provider when it is not reached', async () => {
      const problem = 'open SSH on a failed: no route to host';
      answers(unknown, unknown, { ...settings, verified: null, checkedTime: at, problem });
      const { code, stdout, stderr } = await ask(set);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('The connection site is registered, and cannot be used now: open SSH on a failed');
    });

    it('and does not take what was found before for what is found now', async () => {
      const before = { ...settings, verified, checkedTime: at, problem: '' };
      const later = { ...before, checkedTime: '2026-11-21T09:01:00.000Z', problem: 'the key opens no host' };
      answers(before, before, before, later);
      expect((await ask(set)).stderr).toContain('the key opens no host');
    });

    it('and ends with 8 when that takes too long', async () => {
      answers(unknown, unknown);
      const { code, stderr } = await ask([...set, '--timeout', '300ms']);
      expect(code).toBe(8);
      expect(stderr).toContain('it was not verified within 0.3s');
    });

    it('unless --no-wait is given', async () => {
      answers(unknown, unknown);
      expect(await ask([...set, '--no-wait'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('not reached yet'),
      });
      expect(gateway.asked('GET', '/connections/site')).toEqual([]);
    });
  });

  describe('connection verify --wait', () => {
    const verified = { at: '2026-11-21T08:00:00.000Z', zones: ['z'], specs: 3, nlb: false, simulated: false };
    const problem = 'open SSH on a failed: no route to host';
    const site = { name: 'site', provider: 'ssh', region: '', zone: '', verified, checkedTime: verified.at, problem };
    const later = { ...site, checkedTime: '2026-11-21T09:00:00.000Z' };
    const verify = ['connection', 'verify', 'site', '--wait'];

    const answers = (...looks: readonly unknown[]): void => {
      let count = 0;
      gateway.on('POST', '/connections/site/verify', { status: 202, body: { kind: 'Status', code: 202, message: '' } });
      gateway.on('GET', '/connections/site', () => ({ body: looks[Math.min(count++, looks.length - 1)] }));
    };

    it('says what was found, and not what was found before', async () => {
      answers(site, site, { ...later, problem: '' });
      const { code, stdout, stderr } = await ask(verify);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/site +ssh +- +- +3 +reached/)]);
      expect(stderr).toBe('Verifying the connection site ...\n');
    });

    it('ends with 1 when the provider is not reached, for the same reason as before', async () => {
      answers(site, site, later);
      expect(await ask(verify)).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) });
    });

    it('ends with 8 when that takes too long, and with 130 when it is interrupted', async () => {
      answers({ ...site, problem: '' });
      expect((await ask([...verify, '--timeout', '300ms'])).code).toBe(8);
      const io = fakeIo();
      const ended = ask(verify, io);
      await eventually(() => gateway.asked('GET', '/connections/site').length > 6);
      io.pressCtrlC();
      expect((await ended).code).toBe(130);
    });
  });

  describe.each([
    [['namespace', 'delete', 'team-a'], '/ns/team-a', 'The namespace team-a will be deleted'],
    [['connection', 'delete', 'lab2'], '/connections/lab2', 'The connection lab2 will be deleted'],
    [['token', 'revoke', 'e8b2'], '/tokens/e8b2', 'The token e8b2 will be revoked with immediate effect'],
    [['realm', 'delete', 'company'], '/ns/default/realms/company', 'The realm company will be deleted'],
    [['hook', 'delete-secret', 'audit'], '/ns/default/hook-secrets/audit', 'hooks that refer to it will fail'],
  ])('%j', (command, path, what) => {
    beforeEach(() => void gateway.on('DELETE', path, { body: { kind: 'Status', code: 200, message: '' } }));

    it('says what it will do and asks, unless --yes is given', async () => {
      const no = await ask(command, fakeIo({ answer: 'n' }));
      expect([no.code, no.stderr]).toEqual([1, expect.stringContaining(what)]);
      const nobody = await ask(command);
      expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining('Give --yes')]);
      expect(gateway.received).toEqual([]);
      expect((await ask(command, fakeIo({ answer: 'y' }))).code).toBe(0);
      expect((await ask([...command, '--yes'])).code).toBe(0);
      expect(gateway.asked('DELETE', path)).toHaveLength(2);
    });
  });

  it('connection specs lists what can be given to --spec', async () => {
    const items = [{ name: 'lab.small', memory: '2', cpu: { count: '2', clock: '' } }];
    gateway.on('GET', '/mcir/connections/lab/specs', { body: { items } });
    expect((await ask(['connection', 'specs', 'lab', '-o', 'name'])).stdout).toBe('lab.small\n');
  });

  it('no text of a host reaches the terminal as something that it obeys', async () => {
    const evil = 'down\u001B]52;c;cm0=\u0007\u001B[2J\u202Edmc';
    const hosts = [
      { name: evil, address: '', zone: '', spec: '', state: 'free', cluster: '', machine: '', problem: evil },
    ];
    gateway.on('GET', '/connections/site', { body: { name: evil, hosts } });
    gateway.on('GET', '/ns/default/clusters/demo', refusal(404, 'x.y', evil, { help: evil, field: evil }));
    gateway.state(...new Story().requested(0).events.map((event) => ({ ...event, sentence: evil })));
    const [failed] = sample('failed').operations;
    const steps = failed!.steps.map((step) => ({ ...step, title: evil, note: evil }));
    gateway.on('GET', `${DEMO}/operations`, { body: { items: [{ ...failed, reason: evil, message: evil, steps }] } });
    gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [] } });
    for (const args of [
      ['connection', 'hosts', 'site'],
      ['connection', 'hosts', 'site', '-o', 'json'],
      ['connection', 'describe', 'site'],
      ['connection', 'hosts', 'site', '-o', 'yaml'],
      ['connection', 'hosts', 'site', '-o', 'name'],
      ['cluster', 'get', 'demo'],
      ['cluster', 'describe', 'demo'],
      ['events', 'demo'],
    ]) {
      const { stdout, stderr } = await ask(args);
      expect(`${stdout}${stderr}`).toMatch(/\\u202e|\\x1b|\\u001b/i);
      expect([args, `${stdout}${stderr}`]).not.toEqual([
        args,
        expect.stringMatching(/[^\n\t\u0020-\u007E\u00A0-\u200D\u2010-\u2027\u2190-\u2FFF]/),
      ]);
    }
  });

  describe('connection', () => {
    const fingerprint = (letter: string): string => `SHA256:${letter.repeat(43)}`;

    it('describe shows the host keys, and what to do about a host that is kept out', async () => {
      const host = { address: '198.51.100.11', zone: '', spec: 'ssh.any', machine: '', cluster: '' };
      const hosts = [
        {
          ...host,
          name: 'rack-1',
          state: 'free',
          lastNamespace: 'team-a',
          hostKey: { fingerprint: fingerprint('A'), source: 'first-seen' },
          problem: '',
        },
        {
          ...host,
          name: 'rack-2',
          state: 'kept-out',
          lastNamespace: '',
          hostKey: null,
          problem: 'there are steps of a cluster',
        },
      ];
      const jump = {
        address: '198.51.100.1',
        port: 22,
        user: 'gate',
        hostKey: { fingerprint: fingerprint('J'), source: 'accepted' },
      };
      const body = {
        name: 'site',
        provider: 'ssh',
        region: '',
        zone: '',
        problem: '',
        namespaces: ['team-a'],
        hosts,
        jump,
      };
      gateway.on('GET', '/connections/site', { body });
      const { stdout } = await ask(['connection', 'describe', 'site']);
      for (const line of [
        `Jump host gate@198.51.100.1:22\n    host key: ${fingerprint('J')} (accepted)`,
        `rack-1 198.51.100.11: free\n    host key: ${fingerprint('A')} (first-seen)\n    used last by namespace team-a`,
        'problem: there are steps of a cluster',
        'fairlead connection verify site; after it was reinstalled: fairlead connection accept-host site rack-2',
      ])
        expect(stdout).toContain(line);
    });

    it('describe says that hosts of nspawn are no security boundary', async () => {
      const body = { name: 'here', provider: 'nspawn', region: 'local', zone: '', problem: '' };
      gateway.on('GET', '/connections/here', { body });
      expect((await ask(['connection', 'describe', 'here'])).stdout).toContain('they are no security boundary');
      const verified = { at: '2026-01-01T00:00:00.000Z', zones: [], specs: 3, nlb: true, simulated: false };
      gateway.on('GET', '/connections', { body: { items: [{ ...body, verified }] } });
      expect((await ask(['connection', 'list'])).stdout).toContain('reached, no security boundary');
    });

    it('accept-host-key names the host or the jump host, and one key', async () => {
      gateway.on('POST', '/connections/site/accept-host-key', { status: 202, body: {} });
      const accept = ['connection', 'accept-host-key', 'site'];
      await ask([...accept, '--host', 'rack-1', '--key', fingerprint('B')]);
      await ask([...accept, '--jump', '--key', fingerprint('B')]);
      expect(gateway.received.map(({ body }) => body)).toEqual([
        { host: 'rack-1', hostKey: fingerprint('B') },
        { host: null, hostKey: fingerprint('B') },
      ]);
      for (const wrong of [
        ['--key', fingerprint('B')],
        ['--host', 'rack-1', '--jump', '--key', fingerprint('B')],
        ['--host', 'rack-1', '--key', 'ssh-ed25519 AAAA'],
        ['--host', 'rack-1'],
      ])
        expect((await ask([...accept, ...wrong])).code).toBe(2);
    });

    it('accept-host accepts a host as it is', async () => {
      gateway.on('POST', '/connections/site/accept-host', { status: 202, body: {} });
      await ask(['connection', 'accept-host', 'site', 'rack-2']);
      expect(gateway.received.map(({ body }) => body)).toEqual([{ host: 'rack-2' }]);
    });
  });

  it('connection hosts lists an inventory with who has which host', async () => {
    const host = { name: 'rack-1', address: '198.51.100.11', zone: 'hall-a', spec: 'ssh.any' };
    const hosts = [
      { ...host, state: 'in-use', cluster: 'default/demo', machine: 'demo-cp-1-x7k2p', problem: '' },
      { ...host, name: 'rack-2', state: 'kept-out', cluster: 'default/old', machine: 'old-w-1', problem: 'it is dead' },
    ];
    gateway.on('GET', '/connections/site', { body: { name: 'site', hosts } });
    const { stdout } = await ask(['connection', 'hosts', 'site']);
    expect(stdout).toMatch(/rack-1 .*hall-a .*in-use .*default\/demo .*demo-cp-1-x7k2p/);
    expect(stdout).toMatch(/rack-2 .*kept-out .*it is dead/);
  });

  it('connection grant and quota change that alone, and namespace quota replaces the limits', async () => {
    const settings = { endpoint: 'http://x' };
    const item = { name: 'lab2', provider: 'lab', region: 'r', zone: 'z', verified: null, problem: '', settings };
    gateway.on('GET', '/connections/lab2', { body: item });
    gateway.on('PUT', '/connections/lab2', { body: { ...item, namespaces: ['a', 'b'], quota: { nodes: 4 } } });
    gateway.on('PUT', '/ns/a/quota', { body: { name: 'a', createdTime: '', description: '', quota: { cores: 8 } } });
    const place = { provider: 'lab', region: 'r', zone: 'z', settings };
    expect((await ask(['connection', 'grant', 'lab2', 'a', 'b'])).stdout).toContain('granted to a, b');
    expect(gateway.received.at(-1)?.body).toEqual({ ...place, namespaces: ['a', 'b'] });
    expect((await ask(['connection', 'quota', 'lab2', '--nodes', '4'])).stdout).toContain('nodes 4');
    expect(gateway.received.at(-1)?.body).toEqual({ ...place, quota: { nodes: 4 } });
    expect((await ask(['namespace', 'quota', 'a', '--cores', '8'])).stdout).toContain('cores 8');
    expect(gateway.received.at(-1)?.body).toEqual({ cores: 8 });
    const { settings: _hidden, ...shown } = item;
    gateway.on('GET', '/connections/lab2', { body: shown });
    expect((await ask(['connection', 'grant', 'lab2', 'a'])).stderr).toContain('not yours to see');
  });

  it('connection verify asks for another look', async () => {
    gateway.on('POST', '/connections/site/verify', { status: 202, body: {} });
    expect((await ask(['connection', 'verify', 'site'])).code).toBe(0);
  });

  it('quarantined release says who must do what', async () => {
    gateway.on('POST', '/quarantine/release', { status: 202, body: {} });
    expect(
      (
        await ask([
          'quarantine',
          'release',
          'demo',
          '--service',
          'infra-svc',
          '--consumer',
          'clusters',
          '--mode',
          'skip',
        ])
      ).code,
    ).toBe(0);
    expect(gateway.received[0]?.body).toEqual({
      service: 'infra-svc',
      consumer: 'clusters',
      namespace: 'default',
      cluster: 'demo',
      mode: 'skip',
    });
  });

  it('quarantined rejected lists what lies in the log and is not an event', async () => {
    const rejected = {
      stream: 'evt.5.default.demo.node-demo-w-1',
      reason: 'type',
      count: 3,
      firstSeq: 7,
      lastSeq: 9,
      subject: 'evt.5.default.demo.node-demo-w-1.NodeReady',
      detail: 'it calls itself ClusterDeletionRequested.v1',
      rejectedTime: '2026-01-01T00:00:00.000Z',
    };
    gateway.on('GET', '/quarantine', { body: { kind: 'QuarantineList', items: [], rejected: [rejected] } });
    expect((await ask(['quarantine', 'rejected'])).stdout).toMatch(
      /evt\.5\.default\.demo\.node-demo-w-1 +type +3 +9 +it calls itself ClusterDeletionRequested\.v1/,
    );
  });

  it('version says of each network whether its data plane was ever run', async () => {
    const networks = [
      { cni: 'cilium', version: 'v1.20.2', images: 'registry', verifiedOn: 'lab' },
      { cni: 'flannel', version: 'v0.28.4', images: 'mirror', verifiedOn: 'real' },
    ];
    const kubernetes = { default: 'v1.34.4', known: ['v1.34.4'] };
    gateway.on('GET', '/version', { body: { kind: 'Version', fairlead: '0.1.0', kubernetes, networks } });
    const { stdout } = await ask(['version']);
    expect(stdout).toContain('networks    cilium v1.20.2: applied in the lab only, data plane never run\n');
    expect(stdout).toContain('            flannel v0.28.4 with the images of a mirror: run on real hosts');
  });

  it('version is printed also without a server', async () => {
    expect(await run(['version', '--server', 'http://127.0.0.1:1'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('none is reached'),
    });
  });

  it('completion offers the names that the server knows, and nothing when it is away', async () => {
    gateway.on('GET', '/ns/default/clusters', { body: { items: [clusterView()] } });
    const env = { FAIRLEAD_SERVER: gateway.url };
    expect((await run(['__complete', '--', 'cluster', 'get', ''], fakeIo({ env }))).stdout).toBe('demo\n');
    expect(
      await run(['__complete', '--', 'cluster', 'get', ''], fakeIo({ env: { FAIRLEAD_SERVER: 'http://127.0.0.1:1' } })),
    ).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
