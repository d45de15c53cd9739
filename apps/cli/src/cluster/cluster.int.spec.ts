import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sample } from '../progress/operation.fixtures.js';
import { clusterView, FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { reachMoment } from '../spec/moment.fixtures.js';
import { Story } from '../spec/story.fixtures.js';

let gateway: FakeGateway;
let happening: Story;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  happening = new Story();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

const DEMO = '/ns/default/clusters/demo';

const reach = (moment: string): void => reachMoment(gateway, happening, moment);
describe('cluster', () => {
  it('list prints a table, and documents in JSON', async () => {
    gateway.on('GET', '/ns/team-a/clusters', { body: { items: [clusterView({ namespace: 'team-a' })] } });
    expect((await ask(['cluster', 'list', '-n', 'team-a'])).stdout).toBe(
      'NAME   STATE     READY   VERSION   AGE     MESSAGE\ndemo   Running   5/5     v1.34.4   1h00m   -\n',
    );
    expect(JSON.parse((await ask(['cluster', 'list', '-n', 'team-a', '-o', 'json'])).stdout)).toMatchObject([
      { kind: 'Cluster', metadata: { name: 'demo' }, status: { state: 'Running' } },
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

  it('create without a file names the required options', async () => {
    const { code, stderr } = await ask(['cluster', 'create', 'demo', '--machine-type', 'lab.medium']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('A cluster needs --connection and --machine-type, or a file'),
    ]);
  });

  it('create with its flag sends a CB-Ladybug request from standard input, with an idempotency key', async () => {
    gateway.on('POST', '/ns/default/clusters', {
      status: 202,
      headers: { 'x-fairlead-seq': '101' },
      body: clusterView(),
    });
    const stdin = 'name: demo\ncontrolPlane: [{ connection: lab, count: 1, spec: s }]\n';
    const { code, stderr } = await ask(['cluster', 'create', '--ladybug', '-f', '-'], fakeIo({ stdin }));
    expect(code).toBe(0);
    expect(stderr).toContain('wait for it with "fairlead cluster wait demo"');
    const [request] = gateway.asked('POST', '/ns/default/clusters');
    expect(request?.body).toEqual({ name: 'demo', controlPlane: [{ connection: 'lab', count: 1, spec: 's' }] });
    expect(request?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('create waits for the response of a request with the same key that is in progress', async () => {
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
    const { code, stderr } = await ask(['cluster', 'create', '--ladybug', '-f', '-'], fakeIo({ stdin }));
    expect([code, stderr, asked]).toEqual([0, expect.not.stringContaining('in progress'), 3]);
    const keys = gateway.asked('POST', '/ns/default/clusters').map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys.slice(-3)).size).toBe(1);
  });

  it('describe draws the latest operation with all nodes of the cluster', async () => {
    reach('ready');
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toMatch(/^✔ default\/demo {2}Ready, v1.34.4, took \d+s\n/);
    expect(stdout).toContain('3 control planes  Ready v1.34.4');
  });

  it('describe starts with the state of an unhealthy cluster', async () => {
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

  it('describe prints the views of the server with --output json', async () => {
    reach('hosts');
    const { operations } = sample('hosts');
    expect(JSON.parse((await ask(['cluster', 'describe', 'demo', '-o', 'json'])).stdout)).toMatchObject({
      operations,
      upgrades: [],
    });
  });

  it('describe shows how the latest upgrade ended, without dry runs', async () => {
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

  it('describe names the actions on a halted upgrade', async () => {
    reach('ready');
    const target = { kubernetes: 'v1.35.4', renewCertificates: false, reboot: false };
    const halted = {
      ...{ id: 'u-8f3k2m9q', mode: 'ask', target, phase: 'Halted', message: 'stopped at canary demo-w-1 (D1)' },
      ...{ requestedAt: '2026-11-21T08:00:00.000Z', actor: 'user/ada' },
    };
    gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [halted] } });
    const nextActions = ['fix the cause, then retry: "fairlead upgrade retry demo"'];
    gateway.on('GET', `${DEMO}/upgrades/u-8f3k2m9q`, { body: { ...halted, nextActions } });
    const { stdout } = await ask(['cluster', 'describe', 'demo']);
    expect(stdout).toMatch(
      /Halted: stopped at canary [^\n]*\n {4}next: fix the cause, then retry: "fairlead upgrade retry demo"\n/,
    );
  });

  it('list shows the clusters as they were at a sequence or a time, of a namespace or of all', async () => {
    const row = {
      ...{ namespace: 'default', name: 'gone', uid: 'u', state: 'Degraded', reason: 'not Ready: gone-w-1' },
      ...{ since: '2026-11-21T07:00:00.000Z', version: 'v1.34.4', nodesReady: 2, nodesTotal: 3, operation: null },
      ...{ deadline: null, createdTime: '2026-11-20T08:00:00.000Z', lastSeq: 9 },
    };
    gateway.on('GET', '/fleet', { body: { kind: 'FleetList', items: [row], total: 1, counts: {} } });
    const { stdout } = await ask(['cluster', 'list', '--at', '4711']);
    expect(stdout).toContain('gone');
    expect(stdout).toContain('2/3');
    expect(gateway.asked('GET', '/fleet').at(-1)?.query).toMatchObject({ at: '4711', namespace: 'default' });
    expect((await ask(['cluster', 'list', '-A', '--at', '4711', '-o', 'name'])).stdout).toBe('default/gone\n');
    expect(gateway.asked('GET', '/fleet').at(-1)?.query['namespace']).toBeUndefined();
    for (const more of [['--watch'], ['--ladybug'], ['-A', '-n', 'team-a']])
      expect((await ask(['cluster', 'list', '--at', '4711', ...more])).code).toBe(2);
  });

  it('describe shows the objects at a sequence or a time, and refuses other values [Cluster API 31]', async () => {
    reach('hosts');
    gateway.on('GET', DEMO, { body: clusterView() });
    const template = { name: 'small', revision: 2, deprecated: false };
    const hooks = [{ name: 'inventory', points: ['BeforeCreate'] }];
    gateway.on('GET', `${DEMO}/manifest`, {
      body: { metadata: { name: 'demo' }, spec: { hooks }, status: { template } },
    });
    for (const moment of ['4711', '2026-11-21T09:00:00+01:00']) {
      const { code, stdout } = await ask(['cluster', 'describe', 'demo', '--at', moment]);
      expect([code, stdout.split('\n')[0]]).toEqual([0, expect.stringContaining('default/demo')]);
      for (const part of ['Template small', 'Hook inventory', 'Operation create']) expect(stdout).toContain(part);
    }
    for (const path of [DEMO, `${DEMO}/manifest`, `${DEMO}/operations`]) {
      const queries = gateway.asked('GET', path).map(({ query }) => query['at']);
      expect([path, queries.slice(-2)]).toEqual([path, ['4711', '2026-11-21T08:00:00.000Z']]);
    }
    const { code, stderr } = await ask(['cluster', 'describe', 'demo', '--at', 'yesterday']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give a sequence of the log like 4711, or a time')]);
  });

  it('describe works for a deleted cluster', async () => {
    reach('deleted');
    gateway.on('GET', `${DEMO}/upgrades`, refusal(404, 'cluster.unknown', 'There is none'));
    expect((await ask(['cluster', 'describe', 'demo'])).stdout).toMatch(/^✔ default\/demo {2}Deleted, took/);
  });

  it('describe exits with 5 for a name that never existed', async () => {
    gateway.on('GET', '/ns/default/clusters/unknown/operations', refusal(404, 'cluster.unknown', 'There is none'));
    expect((await ask(['cluster', 'describe', 'unknown'])).code).toBe(5);
  });

  it('describe reports a silent service, and that the disk of the log is low', async () => {
    reach('ready');
    gateway.on('GET', '/readyz', {
      body: {
        status: 'degraded',
        services: { 'infra-svc': 'silent for 34 s; its work waits', 'upgrade-svc': 'ok' },
        alarms: { disk: 'only 5.0 MiB are left for the event log' },
      },
    });
    expect((await ask(['cluster', 'describe', 'demo'])).stderr).toBe(
      'infra-svc: silent for 34 s; its work waits\ndisk: only 5.0 MiB are left for the event log\n',
    );
  });
});
