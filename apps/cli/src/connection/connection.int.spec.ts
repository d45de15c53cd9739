import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  folder = newFolder('cli');
});

afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
describe('connection get-secret', () => {
  const CREDENTIAL = '/connections/site/credential';
  const getSecret = (...args: readonly string[]): Promise<Ran> => ask(['connection', 'get-secret', 'site', ...args]);

  beforeEach(() => {
    gateway.on('GET', CREDENTIAL, {
      body: { kind: 'ConnectionCredential', name: 'site', secret: 's3cret', keys: { 'rack-1': 'key-1' } },
    });
  });

  it('prints the credential alone, as a file needs it, or the key of single hosts', async () => {
    expect(await getSecret()).toMatchObject({ code: 0, stdout: 's3cret\n', stderr: '' });
    expect(await getSecret('--key', 'rack-1')).toMatchObject({ code: 0, stdout: 'key-1\n' });
  });

  it('names the existing keys if another one is requested', async () => {
    const { code, stdout, stderr } = await getSecret('--key', 'rack-2');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('The connection has these keys: rack-1.');
  });

  it('ends with 4 for a user who may not read it', async () => {
    gateway.on('GET', CREDENTIAL, refusal(403, 'auth.role-missing', 'You need the role admin.'));
    expect(await getSecret()).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('connection', () => {
  it('set does not read the secret from the command line', async () => {
    gateway.on('PUT', '/connections/lab2', {
      body: { name: 'lab2', provider: 'lab', region: 'r', zone: 'z', verified: null, problem: '', settings: {} },
    });
    await ask(
      [
        'connection',
        'register',
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

  it('set reads an inventory of hosts from a file', async () => {
    const file = join(folder, 'site.yaml');
    writeFileSync(file, 'apiAddress: 198.51.100.10\nhosts:\n  - { name: rack-1, address: 198.51.100.11 }\n');
    const body = { name: 'site', provider: 'ssh', region: '', zone: '', verified: null, problem: '', settings: {} };
    gateway.on('PUT', '/connections/site', { body });
    const set = [
      'connection',
      'register',
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
  });

  describe('set waits until the connection is verified', () => {
    const settings = { name: 'site', provider: 'ssh', region: '', zone: '', settings: {} };
    const at = '2026-11-21T09:00:00.000Z';
    const verified = { at, zones: ['z'], specs: 3, nlb: false, simulated: false };
    const unknown = { ...settings, verified: null, checkedTime: null, problem: '' };
    const set = ['connection', 'register', 'site', '--provider', 'ssh'];

    const answers = (before: unknown, ...looks: readonly unknown[]): void => {
      let count = 0;
      gateway.on('PUT', '/connections/site', { body: before });
      gateway.on('GET', '/connections/site', () => ({ body: looks[Math.min(count++, looks.length - 1)] }));
    };

    it('and prints the result', async () => {
      answers(unknown, unknown, unknown, { ...settings, verified, checkedTime: at, problem: '' });
      const { code, stdout } = await ask(set);
      expect(code).toBe(0);
      expect(stdout).toMatch(/site +ssh +- +- +3 +reached/);
      expect(gateway.asked('GET', '/connections/site').length).toBe(3);
    });

    it("and exits with 1 and the provider's error if the provider is unreachable", async () => {
      const problem = 'open SSH on a failed: no route to host';
      answers(unknown, unknown, { ...settings, verified: null, checkedTime: at, problem });
      const { code, stdout, stderr } = await ask(set);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('The connection site is registered, and cannot be used now: open SSH on a failed');
    });

    it('and ignores the result of an earlier verification', async () => {
      const before = { ...settings, verified, checkedTime: at, problem: '' };
      const later = { ...before, checkedTime: '2026-11-21T09:01:00.000Z', problem: 'the key opens no host' };
      answers(before, before, before, later);
      expect((await ask(set)).stderr).toContain('the key opens no host');
    });

    it('and exits with 8 after its timeout', async () => {
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

  describe('verify --wait', () => {
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

    it('prints the new result, not an earlier one', async () => {
      answers(site, site, { ...later, problem: '' });
      const { code, stdout, stderr } = await ask(verify);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/site +ssh +- +- +3 +reached/)]);
      expect(stderr).toBe('Verifying the connection site ...\n');
    });

    it('exits with 1 if the provider is unreachable, even with the same error as before', async () => {
      answers(site, site, later);
      expect(await ask(verify)).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) });
    });

    it('exits with 8 after its timeout, and with 130 if interrupted', async () => {
      answers({ ...site, problem: '' });
      expect((await ask([...verify, '--timeout', '300ms'])).code).toBe(8);
      const io = fakeIo();
      const ended = ask(verify, io);
      await eventually(() => gateway.asked('GET', '/connections/site').length > 6);
      io.pressCtrlC();
      expect((await ended).code).toBe(130);
    });
  });

  it('specs lists the values for --spec', async () => {
    const items = [{ name: 'lab.small', memory: '2', cpu: { count: '2', clock: '' } }];
    gateway.on('GET', '/mcir/connections/lab/specs', { body: { items } });
    expect((await ask(['connection', 'specs', 'lab', '-o', 'name'])).stdout).toBe('lab.small\n');
  });

  const fingerprint = (letter: string): string => `SHA256:${letter.repeat(43)}`;

  it('describe shows the host keys, and advice for an excluded host', async () => {
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

  it('describe warns that nspawn hosts are not a security boundary', async () => {
    const body = { name: 'here', provider: 'nspawn', region: 'local', zone: '', problem: '' };
    gateway.on('GET', '/connections/here', { body });
    expect((await ask(['connection', 'describe', 'here'])).stdout).toContain('they are no security boundary');
    const verified = { at: '2026-01-01T00:00:00.000Z', zones: [], specs: 3, nlb: true, simulated: false };
    gateway.on('GET', '/connections', { body: { items: [{ ...body, verified }] } });
    expect((await ask(['connection', 'list'])).stdout).toContain('reached, no security boundary');
  });

  it('accept-host-key sends the name of the host or the jump host, and one key', async () => {
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

  it('accept-host accepts a host in its present state', async () => {
    gateway.on('POST', '/connections/site/accept-host', { status: 202, body: {} });
    await ask(['connection', 'accept-host', 'site', 'rack-2']);
    expect(gateway.received.map(({ body }) => body)).toEqual([{ host: 'rack-2' }]);
  });

  it('hosts lists an inventory with the owner of each host', async () => {
    const host = { name: 'rack-1', address: '198.51.100.11', zone: 'hall-a', spec: 'ssh.any' };
    const hosts = [
      { ...host, state: 'in-use', cluster: 'default/demo', machine: 'demo-cp-1-x7k2p', problem: '' },
      { ...host, name: 'rack-2', state: 'kept-out', cluster: 'default/old', machine: 'old-w-1', problem: 'it is dead' },
      {
        ...host,
        name: 'rack-3',
        state: 'unreached',
        problem: 'late',
        checks: { ssh: '', clock: 'late', disk: 'full' },
      },
    ];
    gateway.on('GET', '/connections/site', { body: { name: 'site', hosts } });
    const { stdout } = await ask(['connection', 'hosts', 'site']);
    expect(stdout).toMatch(/rack-1 .*hall-a .*in-use .*default\/demo .*demo-cp-1-x7k2p/);
    expect(stdout).toMatch(/rack-2 .*kept-out .*it is dead/);
    expect(stdout).toMatch(/rack-3 .*unreached .*clock, disk .*late/);
  });

  it.each([
    ['connection', 'lab2', '/connections/lab2', (quota: object) => ({ quota })],
    ['namespace', 'a', '/ns/a', (quota: object) => quota],
  ] as const)(
    'quota of a %s shows limits, changes the given ones, and removes them only with --no-limits',
    async (noun, name, path, sent) => {
      const at = noun === 'namespace' ? `${path}/quota` : path;
      const item = { name, provider: 'lab', createdTime: '', description: '' };
      gateway.on('GET', path, { body: { ...item, quota: { clusters: 2, nodes: 4 } } });
      gateway.on('PATCH', at, { body: { ...item, quota: {} } });
      const quota = (...options: string[]) => ask([noun, 'quota', name, ...options]);
      expect((await quota()).stdout).toBe(`The ${noun} ${name} may have 2 clusters and 4 nodes.\n`);
      expect(gateway.received.map(({ method }) => method)).toEqual(['GET']);
      const bodyOf = async (...options: string[]) => {
        expect((await quota(...options)).stdout).toBe(`The ${noun} ${name} has no quota.\n`);
        return gateway.received.at(-1)?.body;
      };
      expect(await bodyOf('--cores', '8')).toEqual(sent({ cores: 8 }));
      expect(await bodyOf('--nodes', 'none', '--clusters', '3')).toEqual(sent({ clusters: 3, nodes: null }));
      expect(await bodyOf('--no-limits')).toEqual(sent({ clusters: null, nodes: null, cores: null }));
      const both = await quota('--no-limits', '--nodes', '3');
      expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('exclude each other')]);
    },
  );

  it('grant changes only the grants', async () => {
    const item = { name: 'lab2', provider: 'lab', region: 'r', zone: 'z', verified: null, problem: '' };
    gateway.on('PATCH', '/connections/lab2', { body: { ...item, namespaces: ['a', 'b'] } });
    expect((await ask(['connection', 'grant', 'lab2', 'a', 'b'])).stdout).toContain('granted to a, b');
    expect(gateway.received.map(({ body }) => body)).toEqual([{ namespaces: ['a', 'b'] }]);
  });

  it('verify requests a new verification', async () => {
    gateway.on('POST', '/connections/site/verify', { status: 202, body: {} });
    expect((await ask(['connection', 'verify', 'site'])).code).toBe(0);
  });
});
