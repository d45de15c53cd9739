import { CONNECTIONS_STREAM, type ClusterView, type Fact } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { newClientRequest } from '@fairlead/embedded/credentials';
import { describeApi } from '../documents/describe.js';
import { request, useGateway } from '../gateway.fixtures.js';
import { key, signed } from '../releases/releases.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';
import {
  operationFailed,
  PLAN_HASH,
  upgradeFact,
  upgradeId as storyId,
  upgradePlanned,
} from '../upgrades/upgrades.fixtures.js';

const gateway = useGateway(
  async () => {
    await gateway.startReplica();
  },
  { variables: { AUTOSCALER_ADDRESS: 'fairlead.example:7443', AUTOSCALER_LISTEN: '127.0.0.1:0' } },
);

const BUILT: ReadonlySet<string> = new Set(['ClusterAccepted', 'VmsPlanned', 'NodeReady', 'ClusterReady']);
const clusters = '/ns/default/clusters';

const requested = async (name: string): Promise<string> =>
  (await gateway.ask<ClusterView>('POST', clusters, { body: request(name) })).body.uid;

const stateAll = async (name: string, facts: readonly Fact[], ids: Readonly<Record<string, string>>): Promise<void> => {
  for (const fact of facts) {
    const text = Object.entries(ids).reduce((before, [from, to]) => before.replaceAll(from, to), JSON.stringify(fact));
    await gateway.state(JSON.parse(text) as Fact, { cluster: name });
  }
};

const hookBlocked: Fact = {
  type: 'HookBlocked',
  data: {
    ...{ uid: storyUid, hook: 'backup', point: 'BeforeClusterDelete', attempt: 1, message: '' },
    nextAttemptAt: '2026-01-01T01:00:00.000Z',
  },
};

/** A cluster that is Provisioned; answers its path. */
const built = async (name: string, then: readonly Fact[] = []): Promise<string> => {
  const facts = [...CREATE.filter(({ type }) => BUILT.has(type)), ...then];
  await stateAll(name, facts, { [storyUid]: await requested(name) });
  return `${clusters}/${name}`;
};

/** A cluster with an upgrade that is so far; answers the path of the upgrade. */
const upgrading = async (name: string, facts: readonly Fact[] = []): Promise<string> => {
  const path = await built(name);
  const { body } = await gateway.ask<{ id: string; uid: string }>('POST', `${path}/upgrades`, {
    body: { version: 'v1.35.4' },
  });
  await stateAll(name, facts, { [storyUid]: body.uid, [storyId]: body.id });
  return `${path}/upgrades/${body.id}`;
};

const approved = [upgradePlanned(), upgradeFact('UpgradeApproved', { planHash: PLAN_HASH })];
const running = [...approved, upgradeFact('RolloutStarted', { planHash: PLAN_HASH })];
const halted = [...running, operationFailed('op-6', 'demo-w-2')];
const saved = (data: object): Fact =>
  ({
    type: 'EtcdSnapshotTaken',
    data: { uid: storyUid, upgradeId: null, operation: null, ...data },
  }) as unknown as Fact;
const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];

interface Repeated {
  /** Makes what the route needs; answers its path. */
  readonly path: () => Promise<string>;
  readonly body?: object;
  readonly other: object;
  /** Absent: 1. */
  readonly events?: number;
  /** Further events when its answer was lost and it is sent again; absent: none. */
  readonly eventsAgain?: number;
}

const at = (path: string) => (): Promise<string> => Promise.resolve(path);
/** A route of a connection to two hosts of its own. */
const ownHosts = (route: string) => async (): Promise<string> => {
  const hosts = [1, 2].map((number) => ({ name: `rack-${number}`, address: `198.51.100.1${number}` }));
  const put = { provider: 'ssh', settings: { hosts, secret: 'key' } };
  await gateway.ask('PUT', '/connections/site', { body: put });
  return `/connections/site${route}`;
};
const steered = (name: string, facts: readonly Fact[], body: object | undefined, other: object): Repeated => ({
  path: async () => `${await upgrading(`up-${name}`, facts)}/${name}`,
  ...(body === undefined ? {} : { body }),
  other,
});

const quarantined = {
  service: 'infra-svc',
  consumer: 'infra-svc:machines',
  eventSeq: 7,
  eventId: 'e',
  error: 'boom',
};

const taken = { snapshot: 's1', node: 'demo-cp-1', sha256: 'x', bytes: 1, revision: 2, keys: 3, dataRef: null };
const cordon = { action: 'cordon', select: { nodes: ['demo-w-1'] } };
const [csr, otherCsr] = await Promise.all(['one', 'other'].map(async (name) => (await newClientRequest(name)).csr));

/** Every POST route, by the id of its operation. */
/** They record nothing, and their answers are secrets that nothing keeps; a host that joins is known by its token and its key. */
const UNKEYED = ['createSignInCode', 'joinHost', 'signIn', 'signOut'];

/** joins.int repeats it: it needs an agent to give to hosts. */
const ELSEWHERE = ['createHostToken', 'createJoinToken'];

const ROUTES: Readonly<Record<string, Repeated>> = {
  importReleaseCatalogue: {
    path: async () => {
      expect((await gateway.ask('PUT', '/release-signers', { body: { signers: [key.publicKey] } })).status).toBe(200);
      return '/release-signers/catalogue';
    },
    body: signed({ sequence: 1 }),
    other: signed({ sequence: 2 }),
  },
  withdrawRelease: { path: at('/releases/v1.34.11/withdraw'), body: { reason: 'one' }, other: { reason: 'other' } },
  createNamespace: { path: at('/ns'), body: { name: 'one' }, other: { name: 'other' } },
  createToken: {
    path: at('/tokens'),
    body: { name: 'ci', roles: [{ namespace: 'default', role: 'viewer' }] },
    other: { name: 'ci', roles: [{ namespace: 'default', role: 'operator' }] },
    // The secret of a lost answer is lost, too: the hash of another one is recorded.
    eventsAgain: 1,
  },
  verifyConnection: { path: at('/connections/lab/verify'), other: { x: 1 } },
  syncApplication: {
    path: async () => {
      const body = { repository: 'https://charts.example.org', chart: 'grafana', range: '8.x' };
      expect((await gateway.ask('PUT', '/applications/grafana', { body })).status).toBe(200);
      return '/applications/grafana/sync';
    },
    other: { x: 1 },
  },
  rotateSshKey: {
    path: async () => {
      const data = {
        connection: 'lab',
        sshKey: 'fairlead-lab',
        publicKey: 'ssh-ed25519 AAAA fairlead',
        secretRef: 'infra-svc.ssh-key.lab',
      };
      const { meta } = await gateway.state({ type: 'SshKeyEnsured', data } as unknown as Fact, {
        ...CONNECTIONS_STREAM,
        context: 'resources-lab',
      });
      await gateway.ask('GET', `/connections/lab?minSeq=${meta.seq}`);
      return '/connections/lab/ssh-key/rotate';
    },
    body: {},
    other: { force: true },
  },
  acceptHostKey: {
    path: ownHosts('/accept-host-key'),
    body: { host: 'rack-1', hostKey: `SHA256:${'A'.repeat(43)}` },
    other: { host: 'rack-1', hostKey: `SHA256:${'B'.repeat(43)}` },
  },
  controlHostPower: {
    path: async () => {
      const redfish = { url: 'https://198.51.100.111', credentialRef: 'gateway.connection.powered.bmc' };
      const hosts = [{ name: 'rack-1', address: '198.51.100.61', power: { redfish } }];
      const put = { provider: 'ssh', settings: { hosts, secret: 'key', keys: { bmc: 'admin:secret' } } };
      await gateway.ask('PUT', '/connections/powered', { body: put });
      return '/connections/powered/hosts/rack-1/power';
    },
    body: { action: 'off' },
    other: { action: 'on' },
  },
  adoptOrphan: {
    path: async () => {
      await built('adopting');
      const orphan = { connection: 'lab', id: 'i-1', name: 'stray', group: 'default.stray.lab', status: 'running' };
      const { meta } = await gateway.state({ type: 'OrphanVmFound', data: orphan } as unknown as Fact, {
        ...CONNECTIONS_STREAM,
        context: 'resources-lab',
      });
      await gateway.ask('GET', `/connections/lab/orphans?minSeq=${meta.seq}`);
      return '/connections/lab/orphans/i-1/adopt';
    },
    body: { namespace: 'default', cluster: 'adopting', pool: 'worker-1' },
    other: { namespace: 'default', cluster: 'adopting', pool: 'other' },
    events: 2,
  },
  acceptHost: { path: ownHosts('/accept-host'), body: { host: 'rack-1' }, other: { host: 'rack-2' } },
  releaseQuarantined: {
    path: async () => {
      await built('stuck');
      const { meta } = await gateway.state({ type: 'ClusterQuarantined', data: quarantined } as Fact, {
        cluster: 'stuck',
        context: 'quarantine-infra-svc',
      });
      await gateway.ask('GET', `/quarantine?minSeq=${meta.seq}`);
      return '/quarantine/release';
    },
    body: {
      service: 'infra-svc',
      consumer: 'infra-svc:machines',
      namespace: 'default',
      cluster: 'stuck',
      mode: 'retry',
    },
    other: {
      service: 'infra-svc',
      consumer: 'infra-svc:machines',
      namespace: 'default',
      cluster: 'stuck',
      mode: 'skip',
    },
  },
  createCluster: { path: at(clusters), body: request('made'), other: request('made', { description: 'other' }) },
  retryCluster: {
    path: async () => {
      const cause = { operation: 'kubeadm init', target: 'cp', message: 'no' };
      const data = { uid: await requested('broken'), reason: 'InitControlPlaneFailedReason', step: 'init', cause };
      await gateway.state({ type: 'ClusterFailed', data } as unknown as Fact, { cluster: 'broken' });
      return `${clusters}/broken/retry`;
    },
    other: { x: 1 },
  },
  addNodes: {
    path: async () => `${await built('grown')}/nodes`,
    body: { worker },
    other: { worker: [{ ...worker[0], count: 2 }] },
  },
  abandonNodes: {
    path: async () => {
      const path = await built('abandoned');
      await gateway.ask('POST', `${path}/nodes`, { body: { worker } });
      return `${path}/nodes/abandon`;
    },
    other: { x: 1 },
  },
  pauseCluster: {
    path: async () => `${await built('paused')}/pause`,
    body: { reason: 'maintenance' },
    other: { reason: 'other' },
  },
  resumeCluster: {
    path: async () => {
      const path = await built('resumed');
      await gateway.ask('POST', `${path}/pause`, { body: { reason: 'maintenance' } });
      return `${path}/resume`;
    },
    body: { reason: 'done' },
    other: { reason: 'other' },
  },
  replaceNode: {
    path: async () => `${await built('replaced')}/nodes/demo-w-1/replace`,
    body: { reason: 'disk errors' },
    other: { reason: 'other' },
  },
  cancelRemoval: {
    path: async () => {
      const path = await built('kept');
      await gateway.ask('DELETE', `${path}/nodes/demo-w-1`);
      return `${path}/nodes/demo-w-1/cancel-removal`;
    },
    body: { reason: 'a budget allows no eviction' },
    other: { reason: 'other' },
  },
  takeEtcdSnapshot: { path: async () => `${await built('saved')}/etcd/snapshots`, other: { x: 1 } },
  restoreEtcd: {
    path: async () => {
      return `${await built('restored', [saved({ requestId: null, ...taken })])}/etcd/restore`;
    },
    body: { snapshot: 's1', confirm: 'restored' },
    other: { snapshot: 's2', confirm: 'restored' },
  },
  verifyEtcdSnapshot: {
    path: async () => `${await built('verified', [saved({ requestId: null, ...taken })])}/etcd/snapshots/s1/verify`,
    other: { x: 1 },
  },
  replaceNodes: {
    path: async () => `${await built('rolled')}/nodes/replacements`,
    body: { select: { nodes: ['demo-w-1'] }, reason: 'disk errors' },
    other: { select: { nodes: ['demo-w-1'] }, reason: 'other' },
  },
  requestNodeAction: {
    path: async () => `${await built('cordoned')}/nodes/actions`,
    body: cordon,
    other: { ...cordon, action: 'drain' },
  },
  cancelOperation: {
    path: async () => {
      const path = await built('cancelled');
      const { body } = await gateway.ask<{ operation: string }>('POST', `${path}/nodes/actions`, { body: cordon });
      return `${path}/operations/${body.operation}/cancel`;
    },
    body: { reason: 'not today' },
    other: { reason: 'other' },
  },
  execOnNode: {
    path: async () => `${await built('inspected')}/nodes/demo-w-1/exec`,
    body: { command: ['uptime'] },
    other: { command: ['reboot'] },
  },
  skipHook: {
    path: async () => `${await built('hooked', [hookBlocked])}/hooks/backup/skip`,
    body: { reason: 'it is down' },
    other: { reason: 'other' },
  },
  retryNetwork: { path: async () => `${await built('firewalled')}/network/retry`, other: { x: 1 } },
  issueAutoscalerCredential: {
    path: async () => `${await built('scaled')}/autoscaler/credentials`,
    body: { csr },
    other: { csr: otherCsr },
  },
  requestUpgrade: {
    path: async () => `${await built('changed')}/upgrades`,
    body: { version: 'v1.35.4' },
    other: { version: 'v1.35.4', approved: true },
  },
  approveUpgrade: steered('approve', [upgradePlanned()], { planHash: PLAN_HASH }, { planHash: 'x' }),
  pauseUpgrade: steered('pause', running, { reason: 'lunch' }, { reason: 'tea' }),
  resumeUpgrade: steered(
    'resume',
    [...running, upgradeFact('RolloutPaused', { by: 'user', reason: 'lunch' })],
    undefined,
    { x: 1 },
  ),
  abortUpgrade: steered('abort', running, { reason: 'no' }, { reason: 'never' }),
  retryUpgrade: steered('retry', halted, undefined, { x: 1 }),
  skipUpgradeNode: steered('skip', running, { node: 'demo-w-2', reason: 'a' }, { node: 'demo-w-2', reason: 'b' }),
  overrideUpgradeRule: steered('override', running, { rule: 'D7', reason: 'a' }, { rule: 'D7', reason: 'b' }),
  rollBackUpgradeNode: steered('rollback', halted, { node: 'demo-w-2' }, { node: 'demo-w-1' }),
};

/** As when the replica that recorded the event was killed, and its lease has ended. */
const loseAnswer = async (key: string): Promise<void> => {
  const client = new pg.Client({ connectionString: gateway.environment.databases.gateway });
  await client.connect();
  const lost = await client.query(
    `update idempotency set answer = null, held_until = clock_timestamp() - interval '1 second' where key = $1`,
    [key],
  );
  await client.end();
  if (lost.rowCount !== 1) throw new Error(`no request has the key ${key}`);
};

/** Without what another moment changes, e.g. the nodes as they are now, and what is signed or drawn for one answer only. */
const lasting = ({
  certificate: _certificate,
  resourceVersion: _version,
  elapsedMs: _elapsed,
  token: _token,
  createdTime: _created,
  items: _items,
  ...body
}: Record<string, unknown>): object => body;

describe('an idempotency key', () => {
  it('is understood by every POST route', async () => {
    const document = await describeApi();
    const posts = Object.values(document.paths).flatMap(({ post }) => (post === undefined ? [] : [post]));
    expect([...Object.keys(ROUTES), ...UNKEYED, ...ELSEWHERE].toSorted()).toEqual(
      posts.map(({ operationId }) => operationId).toSorted(),
    );
    const withoutKey = posts.filter(
      ({ parameters }) => !(parameters ?? []).some((one) => '$ref' in one && one.$ref.endsWith('/Idempotency-Key')),
    );
    expect(withoutKey.map(({ operationId }) => operationId).toSorted()).toEqual(UNKEYED);
  });

  it.each(Object.entries(ROUTES))(
    'makes %s one decision and one answer, however often, wherever and after which crash it is sent, and is of one body',
    async (_id, { path, body, other, events = 1, eventsAgain = 0 }) => {
      const route = await path();
      const headers = { 'idempotency-key': randomUUID() };
      const send = (sent: object | undefined, replica: number) =>
        gateway.ask('POST', route, { ...(sent === undefined ? {} : { body: sent }), headers, replica });
      const before = (await gateway.log()).length;
      const first = await send(body, 0);
      if (![200, 201, 202].includes(first.status)) throw new Error(JSON.stringify(first.body));
      const second = await send(body, 1);
      expect([second.status, second.body]).toEqual([first.status, first.body]);
      expect(second.headers.get('location')).toBe(first.headers.get('location'));
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      const reused = await send(other, 1);
      expect([reused.status, reused.body['reason']]).toEqual([422, 'idempotency.key-reused']);
      await loseAnswer(headers['idempotency-key']);
      const decidedAgain = await send(body, 1);
      expect([decidedAgain.status, lasting(decidedAgain.body)]).toEqual([first.status, lasting(first.body)]);
      expect(decidedAgain.headers.get('location')).toBe(first.headers.get('location'));
      expect(decidedAgain.headers.get('idempotency-replayed')).toBeNull();
      expect((await send(body, 0)).headers.get('idempotency-replayed')).toBe('true');
      expect((await gateway.log()).length).toBe(before + events + eventsAgain);
    },
    30_000,
  );

  it('makes one token when the gateway is killed between recording and answering, with a secret that opens', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { name: 'lost', roles: [{ namespace: 'default', role: 'viewer' }] };
    const send = (replica: number) =>
      gateway.ask<{ id: string; token: string }>('POST', '/tokens', { body, headers, replica });
    const before = (await gateway.log()).length;
    const first = await send(0);
    await loseAnswer(headers['idempotency-key']);
    const repeated = await send(1);
    expect([repeated.status, repeated.body.id]).toEqual([201, first.body.id]);
    // Two records of one token: the second has the hash of the secret that was answered.
    expect((await gateway.log()).length).toBe(before + 2);
    const opens = async (token: string) => (await gateway.ask('GET', '/ns', { token })).status;
    expect([await opens(repeated.body.token), await opens(first.body.token)]).toEqual([200, 401]);
    await gateway.ask('DELETE', `/tokens/${first.body.id}`);
    await loseAnswer(headers['idempotency-key']);
    const revoked = await send(0);
    expect([revoked.status, revoked.body]).toEqual([404, expect.objectContaining({ reason: 'token.unknown' })]);
  });

  it('is held for as long as its replica works on the request, and no longer', async () => {
    const headers = { 'idempotency-key': randomUUID(), prefer: 'wait=60' };
    const send = (prefer: string) =>
      gateway.ask('POST', clusters, {
        body: request('held'),
        headers: { ...headers, prefer },
        replica: 1,
      });
    const client = new pg.Client({ connectionString: gateway.environment.databases.gateway });
    await client.connect();
    const heldForMs = async (): Promise<number> => {
      const left = 'extract(epoch from held_until - clock_timestamp()) * 1000';
      const { rows } = await client.query(`select ${left} as left from idempotency where key = $1 and answer is null`, [
        headers['idempotency-key'],
      ]);
      return Number(rows[0]?.left ?? 0);
    };
    const working = gateway.ask<ClusterView>('POST', clusters, { body: request('held'), headers });
    await eventually(async () => (await heldForMs()) > 0);
    // A lease that is nearly over, and the replica that works on the request renews it.
    await client.query(`update idempotency set held_until = clock_timestamp() + interval '100 ms' where key = $1`, [
      headers['idempotency-key'],
    ]);
    await eventually(async () => (await heldForMs()) > 1_000);
    await client.end();
    const meanwhile = await send('wait=1');
    expect([meanwhile.status, meanwhile.body['reason']]).toEqual([409, 'idempotency.in-progress']);
    const uid = await eventually(async () => (await gateway.ask<ClusterView>('GET', `${clusters}/held`)).body.uid);
    for (const fact of CREATE.slice(1))
      await gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact, { cluster: 'held' });
    const first = await working;
    expect((await send('wait=14')).headers.get('location')).toBe(first.headers.get('location'));
  });

  it('of a token that was made does not open the stored answer for another token of that name', async () => {
    const roles = [{ namespace: '*', role: 'admin' }];
    const twin = async () =>
      (await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'twin', roles } })).body.token;
    const [one, another] = [await twin(), await twin()];
    const options = { body: { name: 'made', roles }, headers: { 'idempotency-key': 'secret-answer' } };
    const first = await gateway.ask<{ token: string }>('POST', '/tokens', { ...options, token: one });
    const other = await gateway.ask<{ token: string }>('POST', '/tokens', { ...options, token: another });
    // The same key of another token is another request.
    expect(other.status).toBe(201);
    expect(other.body.token).not.toBe(first.body.token);
    const client = new pg.Client({ connectionString: gateway.environment.databases.gateway });
    await client.connect();
    const { rows } = await client.query(`select answer::text as answer from idempotency where key = 'secret-answer'`);
    await client.end();
    expect(JSON.stringify(rows)).toContain('sealed');
    expect(JSON.stringify(rows)).not.toContain(first.body.token);
    expect(first.body.token).toMatch(/^fl_/);
  });
});
