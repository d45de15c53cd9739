import type {
  ClusterView,
  ConnectionName,
  ConnectionView,
  ErrorView,
  Fact,
  NamespaceList,
  NodeName,
  SecretRef,
  SpecList,
} from '@fairlead/contracts';
import { NatsSecrets } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NOWHERE, request, SECRET_CANARY, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway();

const lab = { provider: 'lab', region: 'lab-1', settings: { endpoint: 'http://127.0.0.1:1' } };
/** A cluster whose workers use another connection than its control planes. */
const MULTI = { serviceType: 'multi' };
const put = (name: string, body: unknown) =>
  gateway.ask<Omit<ConnectionView, 'kind'> & Omit<ErrorView, 'kind'>>('PUT', `/connections/${name}`, { body });
const registered = async (name: string) =>
  (await gateway.log('evt.*._._.request.ConnectionRegistered')).filter(
    ({ data }) => 'name' in data && data.name === name,
  );
const sealedFor = async (service: 'infra-svc' | 'gateway', ref: string): Promise<string | undefined> => {
  const key = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
  const nats = await gateway.environment.connect(service);
  return new NatsSecrets(nats, service, key).get(ref as SecretRef);
};

describe('a connection', () => {
  it('keeps its secret sealed, where infra-svc finds it, and out of events and answers [ORBITER 31]', async () => {
    const { body } = await gateway.ask<ConnectionView>('GET', '/connections/lab');
    expect(body).toMatchObject({ name: 'lab', provider: 'lab', hasSecret: true, verified: null, problem: '' });
    expect(body.settings).toEqual({ endpoint: 'http://127.0.0.1:1' });
    expect(JSON.stringify(await gateway.log())).not.toContain(SECRET_CANARY);
    const [event] = await registered('lab');
    expect(event?.data).toMatchObject({ secretRef: 'gateway.connection.lab' });
    expect(await sealedFor('infra-svc', 'gateway.connection.lab')).toBe(SECRET_CANARY);
  });

  it('is registered once by the same request, and again by another or by a new secret [ORBITER 31]', async () => {
    await put('twice', lab);
    await put('twice', lab);
    expect(await registered('twice')).toHaveLength(1);
    await put('twice', { ...lab, zone: 'lab-1b' });
    await put('twice', { ...lab, zone: 'lab-1b', settings: { ...lab.settings, token: 'new' } });
    expect(await registered('twice')).toHaveLength(3);
    const kept = await put('twice', { ...lab, zone: 'lab-1c' });
    expect(kept.body.hasSecret).toBe(true);
  });

  it('takes no secret where it would be stated in an event', async () => {
    const before = (await gateway.log()).length;
    const { status, body } = await put('leaky', { ...lab, settings: { auth: { password: 'hunter2' } } });
    expect([status, body.reason, body.field]).toEqual([400, 'connection.secret-in-settings', 'settings.auth.password']);
    expect((await gateway.log()).length).toBe(before);
  });

  it.each([
    ['apiKey', 'connection.secret-in-settings'],
    ['auth', 'connection.secret-in-settings'],
    ['passphrase', 'connection.secret-in-settings'],
    ['pwd', 'connection.secret-in-settings'],
    ['bearer', 'connection.secret-in-settings'],
    ['userData', 'connection.settings-invalid'],
    ['anythingElse', 'connection.settings-invalid'],
  ])('lets no secret into the log under the name %s', async (name, reason) => {
    const settings = { ...lab.settings, [name]: 'canary-of-a-setting' };
    const { body } = await put('leaky', { ...lab, settings });
    expect([body.reason, body.field]).toEqual([reason, `settings.${name}`]);
    expect(JSON.stringify([body, await gateway.log()])).not.toContain('canary-of-a-setting');
  });

  it('lets no secret into the log inside the URL of its endpoint', async () => {
    for (const endpoint of ['http://user:canary-of-a-url@127.0.0.1:1', 'http://127.0.0.1:1/?key=canary-of-a-url']) {
      const { status, body } = await put('leaky', { ...lab, settings: { endpoint } });
      expect([status, body.reason, body.field]).toEqual([422, 'connection.settings-invalid', 'settings.endpoint']);
      expect(JSON.stringify([body, await gateway.log()])).not.toContain('canary-of-a-url');
    }
  });

  it('is refused with an unknown provider, and the refusal lists the supported ones', async () => {
    const before = (await gateway.log()).length;
    const { status, body } = await put('cloud', { ...lab, provider: 'mars' });
    expect([status, body.reason, body.field]).toEqual([422, 'connection.provider-unknown', 'provider']);
    expect(body.help).toBe('Supported: aws, external, join, lab, nspawn, openstack, ssh.');
    expect((await gateway.log()).length).toBe(before);
  });

  it('shows its settings, addresses and hosts to administrators of all namespaces, and to no viewer or operator', async () => {
    const hosts = [{ name: 'rack-9', address: '198.51.100.99' }];
    await put('walled', { provider: 'ssh', settings: { hosts, secret: 'key' } });
    await put('walled-lab', { ...lab, settings: { endpoint: 'http://198.51.100.99:7070' } });
    const cause = { operation: 'look', target: 'walled', message: '198.51.100.99 does not answer' };
    await gateway.state({ type: 'ConnectionUnverified', data: { connection: 'walled' as never, cause } }, NOWHERE);
    for (const grant of [
      { namespace: 'default', role: 'viewer' },
      { namespace: 'default', role: 'admin' },
      { namespace: '*', role: 'operator' },
    ]) {
      const made = await gateway.ask<{ token: string }>('POST', '/tokens', {
        body: { name: 'reader', roles: [grant] },
      });
      const { token } = made.body;
      for (const path of ['/connections', '/connections/walled', '/connections/walled-lab']) {
        const { status, body } = await gateway.ask('GET', path, { token });
        expect([path, status]).toEqual([path, 200]);
        expect(JSON.stringify(body)).not.toMatch(/198\.51\.100\.99|settings|hasSecret|rack-9/);
      }
    }
    const { body } = await gateway.ask<ConnectionView>('GET', '/connections/walled');
    expect([body.hosts?.[0]?.address, body.hasSecret]).toEqual(['198.51.100.99', true]);
  });

  it('of which all places are taken is the reason of clusters that need one, until there are places or the statement ends', async () => {
    const { headers } = await gateway.ask('POST', '/ns/default/clusters', { body: request('waiting') });
    const busy = (until: string): Fact => ({
      type: 'ConnectionBusy',
      data: {
        ...{ connection: 'lab' as never, tasks: 12, places: 40, until },
        ...{ since: '2026-01-01T00:00:00.000Z', takenSince: '2026-01-01T00:00:00.000Z' },
      },
    });
    const read = async (seq: number): Promise<ClusterView> =>
      (await gateway.ask<ClusterView>('GET', `/ns/default/clusters/waiting?minSeq=${seq}`)).body;
    const waits = ({ conditions }: ClusterView) => conditions.find(({ type }) => type === 'WaitingForConnection');
    expect(waits(await read(Number(headers.get('x-fairlead-seq'))))).toBeUndefined();
    const stated = await gateway.state(busy('2100-01-01T00:00:00.000Z'), NOWHERE);
    const view = await read(stated.meta.seq);
    expect(waits(view)).toMatchObject({ status: 'True', reason: 'ConnectionBusy' });
    expect(view.status).toMatchObject({ state: 'Provisioning', reasons: expect.arrayContaining(['ConnectionBusy']) });
    const free = await gateway.state({ type: 'ConnectionFree', data: { connection: 'lab' as never } }, NOWHERE);
    expect(waits(await read(free.meta.seq))).toBeUndefined();
    const over = await gateway.state(busy('2026-01-01T00:05:00.000Z'), NOWHERE);
    expect(waits(await read(over.meta.seq))).toBeUndefined();
  });

  it('is hidden from those whose namespaces may not use it: its name, its specs and its existence', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'outsider' } });
    await put('inner', { ...lab, namespaces: ['default'] });
    await put('common', { ...lab, namespaces: ['*'] });
    const tokenOf = async (namespace: string) => {
      const roles = [{ namespace, role: 'operator' }];
      return (await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'reader', roles } })).body.token;
    };
    const token = await tokenOf('outsider');
    const { body } = await gateway.ask<{ items: ConnectionView[] }>('GET', '/connections', { token });
    const names = body.items.map(({ name }) => name);
    expect([names.includes('inner'), names.includes('common')]).toEqual([false, true]);
    for (const name of ['inner', 'never-registered'])
      for (const path of [`/connections/${name}`, `/mcir/connections/${name}/specs`]) {
        const answer = await gateway.ask<ErrorView>('GET', path, { token });
        expect([path, answer.status, answer.body.reason]).toEqual([path, 404, 'connection.not-found']);
      }
    const asked = async (connection: string) => {
      const worker = [{ connection, count: 1, spec: 's' }];
      const answer = await gateway.ask<ErrorView>('POST', '/ns/outsider/clusters', {
        body: request('guess', { worker }),
        token,
      });
      return [answer.status, answer.body.reason, answer.body.message.replaceAll(connection, '')];
    };
    expect(await asked('inner')).toEqual(await asked('never-registered'));
    for (const other of [await tokenOf('default'), await tokenOf('*'), undefined])
      expect((await gateway.ask('GET', '/connections/inner', other === undefined ? {} : { token: other })).status).toBe(
        200,
      );
  });

  it.each([
    { code: 'host-repeated', field: 'hosts[1].address', hosts: [{ name: 'rack-2', address: '198.51.100.11' }] },
    { code: 'host-name-invalid', field: 'hosts[1].name', hosts: [{ name: 'rack_2', address: '198.51.100.12' }] },
    { code: 'api-endpoint-invalid', field: 'apiEndpoint', apiEndpoint: 'lb.example.org' },
    { code: 'api-port-taken', field: 'apiPort', apiAddress: '198.51.100.10', apiPort: 6443 },
    { code: 'api-address-taken', field: 'apiAddress', apiAddress: ['198.51.100.10', '198.51.100.10'] },
  ])(
    'to your own hosts is refused with connection.$code and the place of what is wrong, and nothing is stated [ORBITER 2]',
    async ({ code, field, hosts = [], ...others }) => {
      const before = (await gateway.log()).length;
      const settings = { ...others, hosts: [{ name: 'rack-1', address: '198.51.100.11' }, ...hosts], secret: 'key' };
      const { status, body } = await put('site', { provider: 'ssh', settings });
      expect([status, body.reason, body.field]).toEqual([422, `connection.${code}`, `settings.${field}`]);
      expect(body.message).toContain(field);
      expect((await gateway.log()).length).toBe(before);
    },
  );

  it('to your own hosts shows who has which, and what could not be reset', async () => {
    const hosts = [1, 2, 3].map((number) => ({ name: `rack-${number}`, address: `198.51.100.1${number}` }));
    await put('site', { provider: 'ssh', settings: { hosts, secret: 'key' } });
    const uid = '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10' as never;
    const about = { connection: 'site' as never, uid };
    const own = (number: number) => ({ ...hosts[number - 1], port: 22, user: 'root', zone: '', labels: {} }) as never;
    const at = { ...NOWHERE, context: 'stock-site' };
    const taken = [1, 2].map((number) => ({ machine: `demo-w-${number}` as never, host: own(number) }));
    const data = { ...about, namespace: 'default' as never, cluster: 'demo' as never, hosts: taken };
    await gateway.state({ type: 'HostsTaken', data }, at);
    const cause = { operation: 'reset the host', target: 'rack-2', message: 'it does not answer' };
    const withheld = { ...about, machine: 'demo-w-2' as never, host: 'rack-2' as never, cause };
    const { meta } = await gateway.state({ type: 'HostWithheld', data: withheld }, at);
    const { body } = await gateway.ask<ConnectionView>('GET', `/connections/site?minSeq=${meta.seq}`);
    expect(body.hosts?.map(({ name, state, machine, problem }) => [name, state, machine, problem])).toEqual([
      ['rack-1', 'in-use', 'demo-w-1', ''],
      ['rack-2', 'kept-out', 'demo-w-2', 'reset the host on rack-2 failed: it does not answer'],
      ['rack-3', 'free', '', ''],
    ]);
    const unreached = { operation: 'verify connection', target: 'site', message: 'none of its 3 hosts can be used' };
    const unverified = {
      type: 'ConnectionUnverified' as const,
      data: { connection: 'site' as never, cause: unreached },
    };
    const { meta: last } = await gateway.state(unverified, NOWHERE);
    const { body: after } = await gateway.ask<ConnectionView>('GET', `/connections/site?minSeq=${last.seq}`);
    expect(after.hosts?.map(({ state }) => state)).toEqual(['in-use', 'kept-out', 'unreached']);
    for (const at of [0, 2]) expect(after.hosts?.[at]?.problem).toContain('none of its 3 hosts can be used');
  });

  it('to your own hosts shows the checks of each host, also if none of them can be used', async () => {
    const settings = { hosts: [1, 2].map((at) => ({ name: `host-${at}`, address: `198.51.100.4${at}` })) };
    await put('checked', { provider: 'ssh', settings: { ...settings, secret: 'key' } });
    const at = { ...NOWHERE, context: 'resources-checked' };
    const late = 'its clock is 2 h behind the clock of Fairlead';
    const shown = async (fact: Fact<'ConnectionVerified' | 'ConnectionUnverified'>) => {
      const { meta } = await gateway.state(fact, at);
      const { body } = await gateway.ask<ConnectionView>('GET', `/connections/checked?minSeq=${meta.seq}`);
      return body.hosts?.map(({ state, problem, checks }) => [state, problem, checks]);
    };
    const connection = 'checked' as ConnectionName;
    const hosts = [
      { name: 'host-1' as NodeName, problem: 'it does not answer', checks: { ssh: 'it does not answer' } },
      { name: 'host-2' as NodeName, problem: late, checks: { ssh: '', hostKey: '', root: '', clock: late } },
    ];
    const cause = { operation: 'verify connection', target: 'checked', message: 'none of its 2 hosts can be used' };
    expect(await shown({ type: 'ConnectionUnverified', data: { connection, cause, hosts } })).toEqual([
      ['unreached', 'it does not answer', hosts[0]!.checks],
      ['unreached', late, hosts[1]!.checks],
    ]);
    const usable = [hosts[0]!, { name: 'host-2' as NodeName, problem: '', checks: { ssh: '', clock: '' } }];
    const offer = { provider: 'ssh', region: 'here', zones: [], specs: [], hosts: usable };
    const capabilities = { nlb: false, simulated: false };
    expect(
      await shown({ type: 'ConnectionVerified', data: { connection, offer: { ...offer, capabilities } } }),
    ).toEqual([
      ['unreached', 'it does not answer', hosts[0]!.checks],
      ['free', '', { ssh: '', clock: '' }],
    ]);
  });

  describe('to your own hosts, by their SSH host keys', () => {
    const key = (letter: string): string => `SHA256:${letter.repeat(43)}`;
    const hosts = [
      { name: 'gate-1', address: '198.51.100.31' },
      { name: 'gate-2', address: '198.51.100.32', hostKey: key('S') },
    ];
    const jump = { address: '198.51.100.30', port: 2222 };
    const shown = async (minSeq: number) => {
      const { body } = await gateway.ask<ConnectionView>('GET', `/connections/keyed?minSeq=${minSeq}`);
      return [...(body.hosts ?? []), body.jump].map((server) => server?.hostKey ?? null);
    };
    const accept = (body: object, connection = 'keyed') =>
      gateway.ask<ErrorView>('POST', `/connections/${connection}/accept-host-key`, { body });
    const seqOf = ({ headers }: { readonly headers: Headers }): number => Number(headers.get('x-fairlead-seq'));

    it('shows the key of each host and of the jump host, and why it counts', async () => {
      await put('keyed', { provider: 'ssh', settings: { hosts, jump, secret: 'key' } });
      const at = { ...NOWHERE, context: 'stock-keyed' };
      const pinned = (host: string | null, address: string, hostKey: string) =>
        ({ type: 'HostKeyPinned', data: { connection: 'keyed', host, address, hostKey } }) as never;
      await gateway.state(pinned('gate-1', '198.51.100.31:22', key('A')), at);
      await gateway.state(pinned('gate-2', '198.51.100.32:22', key('X')), at);
      const { meta } = await gateway.state(pinned(null, '198.51.100.30:2222', key('J')), at);
      expect(await shown(meta.seq)).toEqual([
        { fingerprint: key('A'), source: 'first-seen' },
        { fingerprint: key('S'), source: 'settings' },
        { fingerprint: key('J'), source: 'first-seen' },
      ]);
    });

    it('accepts another key by an act of its own, which the log has with who did it', async () => {
      await accept({ host: 'gate-1', hostKey: key('B') });
      const answer = await accept({ host: null, hostKey: key('K') });
      expect(answer.status).toBe(202);
      expect((await shown(seqOf(answer))).map((one) => [one?.fingerprint, one?.source])).toEqual([
        [key('B'), 'accepted'],
        [key('S'), 'settings'],
        [key('K'), 'accepted'],
      ]);
      const stated = await gateway.log('evt.*._._.request.HostKeyAccepted');
      expect(stated.map(({ data, meta }) => [data, meta.actor])).toEqual([
        [
          { name: 'keyed', host: 'gate-1', address: '198.51.100.31:22', hostKey: key('B') },
          expect.stringMatching(/^user\//),
        ],
        [
          { name: 'keyed', host: null, address: '198.51.100.30:2222', hostKey: key('K') },
          expect.stringMatching(/^user\//),
        ],
      ]);
    });

    it('refuses to accept a key for what it does not have, or where the settings name it', async () => {
      for (const [body, connection, status, reason] of [
        [{ host: 'gate-2', hostKey: key('B') }, 'keyed', 409, 'connection.host-key-in-settings'],
        [{ host: 'gate-9', hostKey: key('B') }, 'keyed', 404, 'connection.host-unknown'],
        [{ host: null, hostKey: key('B') }, 'site', 404, 'connection.host-unknown'],
        [{ host: 'gate-1', hostKey: key('B') }, 'lab', 404, 'connection.host-unknown'],
        [{ host: 'gate-1', hostKey: key('B') }, 'nowhere', 404, 'connection.not-found'],
        [{ host: 'gate-1', hostKey: 'ssh-ed25519 AAAA' }, 'keyed', 400, 'request.malformed'],
      ] as const) {
        const answer = await accept(body, connection);
        expect([body, answer.status, answer.body.reason]).toEqual([body, status, reason]);
      }
    });

    it('accepts a host as it is, unless a cluster has it', async () => {
      const acceptHost = (host: string, connection = 'keyed') =>
        gateway.ask<ErrorView>('POST', `/connections/${connection}/accept-host`, { body: { host } });
      expect((await acceptHost('gate-1')).status).toBe(202);
      const stated = await gateway.log('evt.*._._.request.HostAccepted');
      expect(stated.map(({ data }) => data)).toEqual([{ name: 'keyed', host: 'gate-1' }]);
      expect((await acceptHost('rack-2', 'site')).status).toBe(202); // It is kept out.
      const used = await acceptHost('rack-1', 'site');
      expect([used.status, used.body.reason]).toEqual([409, 'stock.host-in-use']);
      expect((await acceptHost('gate-9')).body.reason).toBe('connection.host-unknown');
    });
  });

  describe('with management controllers', () => {
    const bmc = 'gateway.connection.powered.bmc';
    const redfish = { url: 'https://198.51.100.111', credentialRef: bmc };
    const powered = (power: object, keys: object = { bmc: 'admin:secret' }) => ({
      provider: 'ssh',
      settings: {
        hosts: [
          { name: 'rack-1', address: '198.51.100.61', power },
          { name: 'rack-2', address: '198.51.100.62' },
        ],
        secret: 'key',
        keys,
      },
    });
    const power = (host: string, action = 'off') =>
      gateway.ask<ErrorView>('POST', `/connections/powered/hosts/${host}/power`, { body: { action } });

    it('lets administrators switch the power of a host whose inventory says how', async () => {
      await put('powered', powered({ redfish }));
      expect((await power('rack-1')).status).toBe(202);
      const refusals = [await power('rack-2'), await power('rack-9')].map(({ status, body }) => [status, body.reason]);
      expect(refusals).toEqual([
        [409, 'connection.host-power-none'],
        [404, 'connection.host-unknown'],
      ]);
      expect((await power('rack-1', 'reset')).status).toBe(400);
      const stated = await gateway.log('evt.*._._.request.HostPowerRequested');
      expect(stated.map(({ data }) => data)).toEqual([{ name: 'powered', host: 'rack-1', action: 'off' }]);
      const of = { connection: 'powered', host: 'rack-1', action: 'off', request: stated[0]!.meta.seq, power: 'off' };
      const { meta } = await gateway.state({ type: 'HostPowerAnswered', data: of } as never, {
        ...NOWHERE,
        context: 'resources-powered',
      });
      const { body } = await gateway.ask<ConnectionView>('GET', `/connections/powered?minSeq=${meta.seq}`);
      expect(body.hosts?.map((host) => host.power)).toEqual([
        {
          protocol: 'redfish',
          last: { action: 'off', request: of.request, power: 'off', problem: '', time: meta.time },
        },
        undefined,
      ]);
    });

    it('does not send a sealed password to another controller, nor one of another connection', async () => {
      await put('powered', powered({ redfish }));
      const moved = { redfish: { ...redfish, url: 'https://198.51.100.222' } };
      const again = await put('powered', powered(moved, {}));
      expect([again.status, again.body.reason]).toEqual([422, 'connection.secret-again']);
      const foreign = { redfish: { ...redfish, credentialRef: 'gateway.connection.site.bmc' } };
      const { body } = await put('powered', powered(foreign));
      expect(body).toMatchObject({
        reason: 'connection.key-foreign',
        field: 'settings.hosts[0].power.redfish.credentialRef',
      });
      for (const power of [
        {},
        { redfish, ipmi: { address: '198.51.100.9', credentialRef: bmc } },
        { redfish: { ...redfish, url: 'http://x' } },
      ])
        expect((await put('powered', powered(power))).status).toBe(422);
    });
  });

  it('is looked at again when someone asks', async () => {
    expect((await gateway.ask('POST', '/connections/nowhere/verify')).status).toBe(404);
    expect((await gateway.ask('POST', '/connections/lab/verify')).status).toBe(202);
    const asked = await gateway.log('evt.*._._.request.ConnectionVerificationRequested');
    expect(asked.map(({ data }) => data)).toEqual([{ name: 'lab' }]);
  });

  it('in use cannot be pointed at another provider or endpoint, which would orphan its machines, nor lose its secret to the attempt', async () => {
    await put('based', { ...lab, settings: { ...lab.settings, token: 'first' } });
    const worker = [{ connection: 'based', count: 1, spec: 's' }];
    const made = await gateway.ask('POST', '/ns/default/clusters', { body: request('on-based', { worker, ...MULTI }) });
    await gateway.ask('GET', `/ns/default/clusters/on-based?minSeq=${made.headers.get('x-fairlead-seq')}`);
    const hosts = [{ name: 'rack-1', address: '198.51.100.11' }];
    for (const [field, body] of [
      ['provider', { provider: 'ssh', settings: { hosts, secret: 'second' } }],
      ['provider', { provider: 'ssh', moved: true, settings: { hosts, secret: 'second' } }],
      ['settings.endpoint', { ...lab, settings: { endpoint: 'http://127.0.0.1:2', token: 'second' } }],
    ] as const) {
      const answer = await put('based', body);
      expect([answer.status, answer.body.reason, answer.body.field]).toEqual([409, 'connection.would-orphan', field]);
      expect(answer.body.message).toContain('default/on-based');
    }
    expect(await registered('based')).toHaveLength(1);
    expect(await sealedFor('infra-svc', 'gateway.connection.based')).toBe('first');
    const moved = { ...lab, moved: true, settings: { endpoint: 'http://127.0.0.1:2', token: 'second' } };
    expect((await put('based', moved)).status).toBe(200);
    expect((await put('based', { ...moved, zone: 'lab-1b' })).status).toBe(200);
  });

  it('cannot lose a host of its inventory that a cluster has', async () => {
    const host = (number: number) => ({ name: `rack-${number}`, address: `198.51.100.1${number}` });
    const ssh = (...numbers: number[]) => ({ provider: 'ssh', settings: { hosts: numbers.map(host), secret: 'key' } });
    const { status, body } = await put('site', ssh(2, 3));
    expect([status, body.reason, body.field]).toEqual([409, 'connection.would-orphan', 'settings.hosts']);
    expect(body.message).toContain('rack-1 is in use');
    expect((await put('site', { ...ssh(2, 3), moved: true })).status).toBe(409);
    expect((await put('site', ssh(1, 4))).status).toBe(200);
  });

  it('to own hosts adopts no machine: the answer says that a free host becomes a node when a pool grows', async () => {
    const hosts = [{ name: 'rack-1', address: '198.51.100.11' }];
    await put('racks', { provider: 'ssh', settings: { hosts, secret: 'key' } });
    const { status, body } = await gateway.ask<ErrorView>('POST', '/connections/racks/orphans/rack-1/adopt', {
      body: { namespace: 'default', cluster: 'shop', pool: 'web' },
    });
    expect([status, body.reason]).toEqual([422, 'connection.adoption-unsupported']);
    expect(body.message).toContain('a free one becomes a node when a pool grows');
    expect(body.help).toContain('Scale the pool');
  });

  it('of one tenant is used by no other: a namespace that it is not granted to gets no cluster and no worker on it', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'tenant' } });
    await put('private', { ...lab, namespaces: ['default'] });
    await put('implicit', lab);
    for (const connection of ['private', 'implicit']) {
      const worker = [{ connection, count: 1, spec: 's' }];
      const path = '/ns/tenant/clusters';
      const { status, body } = await gateway.ask<ErrorView>('POST', path, {
        body: request('thief', { worker, ...MULTI }),
      });
      expect([status, body.reason, body.field]).toEqual([403, 'connection.not-granted', 'worker[0].connection']);
    }
    expect((await put('private', { ...lab, namespaces: ['default', 'nowhere'] })).body.reason).toBe(
      'namespace.unknown',
    );
    const shared = await put('private', { ...lab, namespaces: ['tenant', 'default'] });
    expect(shared.body.namespaces).toEqual(['default', 'tenant']);
    expect((await put('private', { ...lab, zone: 'lab-1b' })).body.namespaces).toEqual(['default', 'tenant']);
    const worker = [{ connection: 'private', count: 1, spec: 's' }];
    const made = await gateway.ask('POST', '/ns/tenant/clusters', { body: request('guest', { worker, ...MULTI }) });
    expect(made.status).toBe(202);
  });

  it('and a namespace keep the limits that a change leaves out, of all changes at once', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'limited' } });
    await put('limited', { ...lab, quota: { nodes: 1 } });
    for (const [path, quotaOf] of [
      ['/ns/limited/quota', (quota: object) => quota],
      ['/connections/limited', (quota: object) => ({ quota })],
    ] as const) {
      const change = (quota: object) => gateway.ask<{ quota: object }>('PATCH', path, { body: quotaOf(quota) });
      const changes = [{ clusters: 5 }, { nodes: 40 }, { cores: 160 }].map(change);
      expect((await Promise.all(changes)).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect((await change({})).body.quota).toEqual({ clusters: 5, nodes: 40, cores: 160 });
      const before = (await gateway.log()).length;
      expect((await change({ nodes: 40 })).status).toBe(200);
      expect((await gateway.log()).length).toBe(before);
      expect((await change({ nodes: null })).body.quota).toEqual({ clusters: 5, cores: 160 });
      expect((await change({ clusters: null, cores: null })).body.quota).toEqual({});
      expect((await change({ nodes: -1 })).status).toBe(400);
    }
    expect((await gateway.ask('PATCH', '/ns/nowhere/quota', { body: {} })).status).toBe(404);
    expect((await gateway.ask('PATCH', '/connections/nowhere', { body: {} })).status).toBe(404);
  });

  it('is granted, and limited, without a look at its settings, which another may change meanwhile', async () => {
    await put('split', lab);
    const grant = { namespaces: ['limited'] };
    const [granted, moved] = await Promise.all([
      gateway.ask('PATCH', '/connections/split', { body: grant }),
      put('split', { ...lab, region: 'elsewhere' }),
    ]);
    expect([granted.status, moved.status]).toEqual([200, 200]);
    const { body } = await gateway.ask('GET', '/connections/split');
    expect(body).toMatchObject({ region: 'elsewhere', ...grant });
    const unknown = await gateway.ask('PATCH', '/connections/split', { body: { namespaces: ['nowhere'] } });
    expect([unknown.status, unknown.body['reason']]).toEqual([404, 'namespace.unknown']);
  });

  it('and a namespace give no more than their quotas', async () => {
    const path = '/ns/bounded/clusters';
    await gateway.ask('POST', '/ns', { body: { name: 'bounded' } });
    const set = await gateway.ask('PUT', '/ns/bounded/quota', { body: { clusters: 1, nodes: 6 } });
    expect([set.status, set.body['quota']]).toEqual([200, { clusters: 1, nodes: 6 }]);
    expect((await gateway.ask('PUT', '/ns/nowhere/quota', { body: {} })).status).toBe(404);
    expect((await gateway.ask('PUT', '/ns/bounded/quota', { body: { clusters: -1 } })).status).toBe(400);
    const worker = [{ connection: 'lab', count: 4, spec: 's' }];
    const large = await gateway.ask<ErrorView>('POST', path, { body: request('large', { worker }) });
    expect([large.status, large.body.reason]).toEqual([409, 'quota.exceeded']);
    expect(large.body.message).toBe(
      'Quota exceeded: namespace bounded may have 6 nodes and has 0, and the request adds 7',
    );
    expect((await gateway.ask('POST', path, { body: request('fits') })).status).toBe(202);
    const second = await gateway.ask<ErrorView>('POST', path, { body: request('second') });
    expect(second.body.message).toBe(
      'Quota exceeded: namespace bounded may have 1 cluster and has 1, and the request adds 1',
    );
    await put('small', { ...lab, quota: { nodes: 1 } });
    const onSmall = request('on-small', { worker: [{ connection: 'small', count: 2, spec: 's' }], ...MULTI });
    const refused = await gateway.ask<ErrorView>('POST', '/ns/default/clusters', { body: onSmall });
    expect([refused.status, refused.body.reason]).toEqual([409, 'quota.exceeded']);
  });

  it('never sends its stored secret to a new address or provider: whoever names one gives the secret again', async () => {
    const hosts = [{ name: 'h-1', address: '198.51.100.21' }];
    await put('trap', { ...lab, settings: { ...lab.settings, token: 'precious' } });
    for (const body of [
      { ...lab, settings: { endpoint: 'http://198.51.100.66:80' } },
      { ...lab, moved: true, settings: { endpoint: 'http://198.51.100.66:80' } },
      { provider: 'ssh', settings: { hosts } },
      { provider: 'nspawn', settings: { stateDir: '/var/lib/hosts' } },
    ]) {
      const { status, body: refused } = await put('trap', body);
      expect([status, refused.reason]).toEqual([422, 'connection.secret-again']);
    }
    expect(await registered('trap')).toHaveLength(1);
    await put('inventory', { provider: 'ssh', settings: { hosts, secret: 'key' } });
    const jump = { address: '198.51.100.66' };
    for (const settings of [
      { hosts: [...hosts, { name: 'h-2', address: '198.51.100.66' }] },
      { hosts: [{ ...hosts[0], port: 2222 }] },
      { hosts, jump },
    ])
      expect((await put('inventory', { provider: 'ssh', settings })).body.reason).toBe('connection.secret-again');
    expect((await put('inventory', { provider: 'ssh', settings: { hosts, jump, secret: 'key' } })).status).toBe(200);
    expect((await put('inventory', { provider: 'ssh', settings: { hosts } })).status).toBe(200);
  });

  it('names no secret of another connection or service, and seals further keys of its own', async () => {
    const host = (keyRef: string) => ({ name: 'h-1', address: '198.51.100.31', keyRef });
    for (const keyRef of ['gateway.connection.lab', 'gateway.connection.keyed2', 'infra-svc.ssh-key.lab']) {
      const { status, body } = await put('keyed', {
        provider: 'ssh',
        settings: { hosts: [host(keyRef)], secret: 'key' },
      });
      expect([status, body.reason, body.field]).toEqual([422, 'connection.key-foreign', 'settings.hosts[0].keyRef']);
    }
    const own = 'gateway.connection.keyed.deep';
    const settings = { hosts: [host(own)], secret: 'key', keys: { deep: 'canary-of-a-further-key' } };
    expect((await put('keyed', { provider: 'ssh', settings })).status).toBe(200);
    expect(await sealedFor('infra-svc', own)).toBe('canary-of-a-further-key');
    expect(JSON.stringify(await gateway.log())).not.toContain('canary-of-a-further-key');
    const elsewhere = { hosts: [{ ...host(own), address: '198.51.100.66' }], secret: 'key' };
    expect((await put('keyed', { provider: 'ssh', settings: elsewhere })).body.reason).toBe('connection.secret-again');
    expect((await gateway.ask('DELETE', '/connections/keyed')).status).toBe(200);
    expect(await sealedFor('gateway', own)).toBeUndefined();
  });

  it('cannot be removed while a cluster stands on it', async () => {
    await put('used', lab);
    const worker = [{ connection: 'used', count: 1, spec: 's' }];
    const made = await gateway.ask('POST', '/ns/default/clusters', { body: request('user', { worker, ...MULTI }) });
    await gateway.ask('GET', `/ns/default/clusters/user?minSeq=${made.headers.get('x-fairlead-seq')}`);
    const { status, body } = await gateway.ask<ErrorView>('DELETE', '/connections/used');
    expect([status, body.message]).toEqual([409, "The connection 'used' is used by default/user"]);
    await put('free', { ...lab, settings: { ...lab.settings, secret: 'x' } });
    expect((await gateway.ask('DELETE', '/connections/free')).status).toBe(200);
    expect(await sealedFor('gateway', 'gateway.connection.free')).toBeUndefined();
    const again = await gateway.ask<ErrorView>('DELETE', '/connections/free');
    expect([again.status, again.body.reason]).toEqual([404, 'connection.not-found']);
  });
});

describe('the list of specs', () => {
  const specs = (query: string) =>
    gateway.ask<Omit<SpecList, 'kind'> & Omit<ErrorView, 'kind'>>('GET', `/ladybug/mcir/connections/lab/specs${query}`);
  const offer = {
    provider: 'lab',
    region: 'lab-1',
    zones: ['lab-1a'],
    specs: [
      { name: 'lab.tiny', cpuCount: 1, memoryGiB: 1, cpuClockGHz: null },
      { name: 'lab.small', cpuCount: 2, memoryGiB: 2, cpuClockGHz: 2.5 },
      { name: 'lab.large', cpuCount: 4, memoryGiB: 8, cpuClockGHz: 2.5 },
    ],
    capabilities: { nlb: true, simulated: true },
  };

  it('is not known before the provider was asked', async () => {
    const { status, body } = await specs('');
    expect([status, body.reason]).toEqual([409, 'spec-list.unverified']);
  });

  it('is what the provider offers, in the shape of CB-Ladybug, filtered [CB-Ladybug 2, CB-Ladybug 33]', async () => {
    const verified: Fact = { type: 'ConnectionVerified', data: { connection: 'lab' as never, offer } };
    const { meta } = await gateway.state(verified, NOWHERE);
    const connection = await gateway.ask<ConnectionView>('GET', `/connections/lab?minSeq=${meta.seq}`);
    expect(connection.body.verified).toMatchObject({ specs: 3, nlb: true, simulated: true });
    expect((await specs('')).body).toEqual({
      kind: 'specList',
      connectionName: 'lab',
      items: [
        { name: 'lab.tiny', memory: '1', cpu: { count: '1', clock: '' } },
        { name: 'lab.small', memory: '2', cpu: { count: '2', clock: '2.5' } },
        { name: 'lab.large', memory: '8', cpu: { count: '4', clock: '2.5' } },
      ],
    });
    const names = async (query: string) => (await specs(query)).body.items.map(({ name }) => name);
    expect(await names('?control-plane=Y')).toEqual(['lab.small', 'lab.large']);
    expect(await names('?cpu-min=2&cpu-max=3')).toEqual(['lab.small']);
    expect(await names('?memory-min=4')).toEqual(['lab.large']);
  });

  it('outlives a new registration, since the offer is not stated twice', async () => {
    await gateway.ask('PUT', '/connections/lab', { body: { ...lab, zone: 'lab-1b' } });
    const { body } = await gateway.ask<ConnectionView>('GET', '/connections/lab');
    expect([body.zone, body.verified?.specs]).toEqual(['lab-1b', 3]);
  });

  it.each([
    [
      '?cpu-min=4&cpu-max=2',
      'spec-list.range',
      'The cpu-max must be greater than or equal to the cpu-min. (cpu-min=4 cpu-max=2)',
    ],
    [
      '?memory-min=4&memory-max=2',
      'spec-list.range',
      'The memory-max must be greater than or equal to the memory-min. (memory-min=4 memory-max=2)',
    ],
    ['?cpu-min=two', 'spec-list.number', 'cpu-min is not a number: two'],
    ['?control-plane=maybe', 'request.malformed', undefined],
  ])('refuses %s [CB-Ladybug 3, CB-Ladybug 33]', async (query, reason, message) => {
    const { status, body } = await specs(query);
    expect([status, body.reason]).toEqual([400, reason]);
    if (message !== undefined) expect(body.message).toBe(message);
  });
});

describe('a namespace', () => {
  it('comes, is listed, and goes when it is empty', async () => {
    const made = await gateway.ask('POST', '/ns', { body: { name: 'short', description: 'for a while' } });
    const seq = made.headers.get('x-fairlead-seq');
    const { body } = await gateway.ask<NamespaceList>('GET', `/ns?minSeq=${seq}`);
    expect(body.items.map(({ name }) => name)).toContain('short');
    const again = await gateway.ask<ErrorView>('POST', '/ns', { body: { name: 'short' } });
    expect([again.status, again.body.reason]).toEqual([409, 'namespace.exists']);
    expect((await gateway.ask('DELETE', '/ns/short')).status).toBe(200);
    expect((await gateway.ask('DELETE', '/ns/short')).status).toBe(404);
  });

  it('stays while it holds a cluster, and is not called just anything', async () => {
    const { status, body } = await gateway.ask<ErrorView>('DELETE', '/ns/default');
    expect([status, body.message]).toEqual([
      409,
      "The namespace 'default' still holds clusters: on-based, user, waiting",
    ]);
    const wrong = await gateway.ask<ErrorView>('POST', '/ns', { body: { name: 'Not This' } });
    expect([wrong.status, wrong.body.reason, wrong.body.field]).toEqual([400, 'namespace.name-invalid', 'name']);
  });
});
