import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const POOL = '/ns/default/clusters/demo/pools/web';
const TOKENS = `${POOL}/join-tokens`;
const DATA = `${POOL}/bootstrap-data`;
const HOSTS = '/ns/default/clusters/demo/hosts';
const issued = {
  ...{ kind: 'JoinToken', id: '0a1b2c3d4e5f', namespace: 'default', cluster: 'demo', pool: 'web' },
  ...{ token: `flj_0a1b2c3d4e5f_${'s'.repeat(43)}`, expiresAt: '2026-11-29T11:00:00.000Z' },
  script: { path: '/join/install.sh', sha256: 'a'.repeat(64) },
};
const data = {
  ...{ kind: 'BootstrapData', namespace: 'default', cluster: 'demo', pool: 'web', format: 'cloud-config' },
  ...{ source: 'generated', data: '#cloud-config\nruncmd: []\n', expiresAt: '2026-11-29T11:00:00.000Z' },
};

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const fairlead = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, ...args]);

describe('fairlead node join-command', () => {
  it('prints a single command with the token, the checksum of the script and the address of the gateway', async () => {
    gateway.on('POST', TOKENS, { status: 201, body: issued });
    const { code, stdout, stderr } = await fairlead('node', 'join-command', 'demo', '--pool', 'web');
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).toContain(`curl -fsSL -o "$f" '${gateway.url}/join/install.sh'`);
    expect(stdout).toContain(`echo "${'a'.repeat(64)}  $f" | sha256sum -c --quiet`);
    expect(stdout).toContain(`FAIRLEAD_JOIN_TOKEN=${issued.token} sh "$f" --server '${gateway.url}'`);
    expect(stderr).toBe('The token admits one host to pool web of demo until 2026-11-29T11:00:00.000Z.\n');
    expect(gateway.asked('POST', TOKENS)[0]?.body).toEqual({ ttlSeconds: 3600 });
  });

  it('sets another lifetime, and another address', async () => {
    gateway.on('POST', TOKENS, { status: 201, body: issued });
    const { stdout } = await fairlead(
      ...['node', 'join-command', 'demo', '--pool', 'web', '--ttl', '10m'],
      ...['--gateway-url', 'https://fairlead.example.com/'],
    );
    expect(gateway.asked('POST', TOKENS)[0]?.body).toEqual({ ttlSeconds: 600 });
    expect(stdout).toContain("--server 'https://fairlead.example.com' --cluster default/demo");
  });

  it('prints the token and the command as JSON', async () => {
    gateway.on('POST', TOKENS, { status: 201, body: issued });
    const { stdout } = await fairlead('node', 'join-command', 'demo', '--pool', 'web', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ token: issued.token, command: expect.stringContaining('sh "$f"') });
  });

  it('registers a host with labels instead, and gets exactly one of a pool and labels', async () => {
    const { pool: _none, ...unowned } = issued;
    gateway.on('POST', `${HOSTS}/join-tokens`, { status: 201, body: unowned });
    const labels = ['--label', 'site=shed', '--label', 'rack=1'];
    const { code, stdout, stderr } = await fairlead('node', 'join-command', 'demo', ...labels);
    expect([code, stderr]).toEqual([0, 'The token registers one host with demo until 2026-11-29T11:00:00.000Z.\n']);
    expect(stdout).toContain(`FAIRLEAD_JOIN_TOKEN=${issued.token} sh "$f" --server '${gateway.url}'`);
    const asked = gateway.asked('POST', `${HOSTS}/join-tokens`)[0];
    expect(asked?.body).toEqual({ ttlSeconds: 3600, labels: { site: 'shed', rack: '1' } });
    for (const wrong of [[], ['--pool', 'web', ...labels]]) {
      const refused = await fairlead('node', 'join-command', 'demo', ...wrong);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Give either --pool or --label')]);
    }
  });

  it('refuses an invalid lifetime, and prints why a pool does not accept hosts', async () => {
    const late = await fairlead('node', 'join-command', 'demo', '--pool', 'web', '--ttl', 'soon');
    expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('--ttl: soon is not a duration')]);
    gateway.on('POST', TOKENS, refusal(409, 'join.pool-makes-machines', 'Pool web is on the connection lab'));
    const { code, stderr } = await fairlead('node', 'join-command', 'demo', '--pool', 'web');
    expect(code).not.toBe(0);
    expect(stderr).toContain('Pool web is on the connection lab');
  });
});

describe('fairlead pool bootstrap-data', () => {
  it('prints only the data, so that a machine can use it', async () => {
    gateway.on('GET', DATA, { body: data });
    const { code, stdout, stderr } = await fairlead('pool', 'bootstrap-data', 'demo', 'web');
    expect([code, stdout]).toEqual([0, data.data]);
    expect(stderr).toBe('Its token admits hosts to pool web of demo until 2026-11-29T11:00:00.000Z.\n');
    expect(gateway.asked('GET', DATA)[0]?.query).toEqual({ format: 'cloud-config', server: gateway.url });
  });

  it('requests a script, and sets another address', async () => {
    gateway.on('GET', DATA, { body: data });
    const server = 'https://fairlead.example.com';
    await fairlead('pool', 'bootstrap-data', 'demo', 'web', '--format', 'shell', '--gateway-url', server);
    expect(gateway.asked('GET', DATA)[0]?.query).toEqual({ format: 'shell', server });
  });
});

describe('fairlead host', () => {
  const host = {
    ...{ name: 'host-0a1b2c3d4e5f', labels: { site: 'shed', rack: '1' }, registeredTime: '2026-11-29T11:00:00.000Z' },
    facts: {
      ...{ hostname: 'shed-1', machineId: 'f'.repeat(32), address: '192.168.1.20' },
      ...{ architecture: 'amd64', cpus: 4, memoryMiB: 8192 },
    },
  };

  it('lists the hosts that wait for a pool, with their labels', async () => {
    gateway.on('GET', HOSTS, { body: { kind: 'RegisteredHostList', items: [host] } });
    const { code, stdout } = await fairlead('host', 'list', 'demo');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/host-0a1b2c3d4e5f +shed-1 +site=shed,rack=1 +192/)]);
    gateway.on('GET', HOSTS, { body: { kind: 'RegisteredHostList', items: [] } });
    expect((await fairlead('host', 'list', 'demo')).stdout).toContain('No host of demo waits for a pool.');
  });

  it('deletes a registration', async () => {
    const path = `${HOSTS}/${host.name}`;
    gateway.on('DELETE', path, { body: { kind: 'Status', code: 200, message: 'removed' } });
    const { code, stdout } = await fairlead('host', 'delete', 'demo', host.name, '--yes');
    expect([code, stdout]).toEqual([0, 'Host host-0a1b2c3d4e5f of demo is no longer registered.\n']);
    expect(gateway.asked('DELETE', path)).toHaveLength(1);
  });
});
