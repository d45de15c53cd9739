import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, itWith } from '@fairlead/testing/programs';
import { TestHost } from './host.fixtures.js';
import { PEERS, SHARED, UID } from './steps.fixtures.js';
import { renderStep } from './steps.js';

const GOLDEN = fileURLToPath(new URL('golden/', import.meta.url));

let host: TestHost;

beforeEach(() => {
  host = new TestHost();
});

afterEach(() => host.remove());

describe('the load-balanced API address', () => {
  const stepOf = (peers: typeof PEERS | readonly (typeof PEERS)[number][], initialises = false): string =>
    renderStep('balance-api', {
      uid: UID,
      endpoint: { host: SHARED.address, port: 9998 },
      routerId: SHARED.routerId,
      password: SHARED.password,
      self: PEERS[0],
      peers,
      initialises,
    }).script;
  const addresses = `echo '2: host0    inet ${PEERS[0].address}/24 scope global host0'`;

  beforeEach(() => {
    host
      .standIn('ip', addresses)
      .standIn('haproxy', 'exit 0')
      .standIn('keepalived', 'exit 0')
      .standIn(
        'systemctl',
        'case "$1" in is-active) [ -e "$root/run/$3" ];; enable) touch "$root/run/$3";; *) exit 0;; esac',
      );
  });

  it("is set up once, on the interface with the host's own address", async () => {
    expect((await host.run(stepOf(PEERS))).result).toEqual({ changed: true });
    expect(host.read('/etc/fairlead/balancer/keepalived.conf')).toMatch(/interface host0\n[^@]*\/32 dev host0/);
    expect((await host.run(stepOf(PEERS))).result).toEqual({ changed: false });
    expect(host.calls('systemctl').filter((call) => /enable|reload /.test(call))).toEqual([
      'systemctl enable --now fairlead-haproxy.service',
      'systemctl enable --now fairlead-keepalived.service',
    ]);
  });

  it('switches to other control planes by a reload, which loses no connection', async () => {
    await host.run(stepOf(PEERS));
    expect((await host.run(stepOf(PEERS.slice(0, 2)))).result).toEqual({ changed: true });
    expect(host.read('/etc/fairlead/balancer/haproxy.cfg')).not.toContain(PEERS[2].name);
    expect(host.calls('systemctl').filter((call) => /restart|reload /.test(call))).toEqual([
      'systemctl reload fairlead-haproxy.service',
      'systemctl reload fairlead-keepalived.service',
    ]);
  });

  it("requires an interface with the host's own address, and reports a missing one", async () => {
    host.standIn('ip', 'true');
    const { code, stderr } = await host.run(stepOf(PEERS));
    expect([code, stderr]).toEqual([1, 'no interface of this host has the address 198.18.7.11']);
  });

  itWith('haproxy').each(['haproxy.cfg', 'haproxy.ipv6.cfg'])('is accepted by haproxy: %s', (name) => {
    // haproxy's own user may not exist on this machine.
    const text = readFileSync(join(GOLDEN, `${name}.golden`), 'utf8').replaceAll(/^ {2}(user|group) haproxy\n/gm, '');
    const { root } = host.write('/haproxy.cfg', text);
    const { code, lines } = check('haproxy', ['-c', '-f', join(root, 'haproxy.cfg')]);
    expect([code, lines.filter((line) => !/NOTICE|Configuration file is valid/.test(line))]).toEqual([0, []]);
  });

  const device = Object.keys(networkInterfaces()).find((name) => name !== 'lo') ?? 'lo';
  itWith('keepalived')('is accepted by keepalived', () => {
    const text = readFileSync(join(GOLDEN, 'keepalived.conf.golden'), 'utf8').replaceAll('@interface@', device);
    const { root } = host.write('/keepalived.conf', text);
    const { lines } = check('keepalived', ['--config-test', '--use-file', join(root, 'keepalived.conf')]);
    // The script that it tracks does not exist on this machine.
    expect(lines.filter((line) => !/check\.sh|reaches_an_api_server/.test(line))).toEqual([]);
  });

  it.each(['balancer-check.bash', 'balancer-check.leader.bash'])('is accepted by bash: %s', (name) => {
    const { status, stderr } = spawnSync('bash', ['-n', join(GOLDEN, `${name}.golden`)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
