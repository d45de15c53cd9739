import { NodeLoadBalancing } from '@fairlead/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventuallyPasses } from '@fairlead/testing';
import { describeInNetwork } from '@fairlead/testing/programs';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressesHaproxyConfig } from './addresses.haproxy.js';
import { addressesCheck, addressesKeepalivedConfig } from './addresses.keepalived.js';
import { ADDRESSES } from './balancer.paths.js';
import { greeter, Machines } from './failover.fixtures.js';
import { INTERFACE } from './keepalived.config.js';

const ADDRESS = '198.51.100.5';
const HOLDERS = { h1: '198.51.100.21', h2: '198.51.100.22' } as const;
const NODES = { n1: '198.51.100.31', n2: '198.51.100.32' } as const;
const CLIENT = '198.51.100.50';
const STRANGER = '198.51.100.66';
const WEB = 80;
const PROXIED = 443;
const UNSURE = 81;
const KUBELET = 10_250;
/** ORBITER's limit, measured by a client. */
const BACK_WITHIN_MS = 15_000;
const PATIENCE = { withinMs: BACK_WITHIN_MS };

type Holder = keyof typeof HOLDERS;
const NAMES: readonly Holder[] = ['h1', 'h2'];

const upstreams = (names: readonly (keyof typeof NODES)[]) => names.map((node) => ({ node, address: NODES[node] }));

const balancing = (self: Holder, behind: readonly (keyof typeof NODES)[]): NodeLoadBalancing =>
  NodeLoadBalancing.parse({
    self: HOLDERS[self],
    pools: { web: upstreams(behind), first: upstreams(['n1']) },
    addresses: [
      {
        name: 'ingress',
        address: ADDRESS,
        routerId: 5,
        priority: self === 'h1' ? 254 : 253,
        peers: NAMES.filter((name) => name !== self).map((name) => HOLDERS[name]),
        transports: [
          {
            name: 'web',
            frontendPort: WEB,
            backendPort: 8080,
            healthCheck: { interval: '1s' },
            allow: [`${CLIENT}/32`],
            backends: ['web'],
          },
          {
            name: 'proxied',
            frontendPort: PROXIED,
            backendPort: 8443,
            healthCheck: { interval: '1s' },
            proxyProtocol: true,
            backends: ['first'],
          },
          {
            // No node passes this check: the server there does not use HTTP.
            name: 'unsure',
            frontendPort: UNSURE,
            backendPort: 8080,
            healthCheck: { protocol: 'http', interval: '1s' },
            backends: ['web'],
          },
        ],
      },
    ],
  });

describeInNetwork(
  'ip',
  'haproxy',
  'keepalived',
)('a virtual address that two nodes may hold', () => {
  let machines: Machines;
  let folder = '';
  const haproxy = new Map<Holder, ChildProcess>();
  const keepalived = new Map<Holder, ChildProcess>();

  const pathOf = (name: Holder, file: string): string => join(folder, name, file);

  /** Files are written to the test's folder, and programs run as the test's user. */
  const write = (name: Holder, behind: readonly (keyof typeof NODES)[]): void => {
    const own = balancing(name, behind);
    const here = (text: string): string =>
      text
        .replaceAll(ADDRESSES.folder, join(folder, name))
        .replaceAll('/run/fairlead', join(folder, name))
        .replaceAll(INTERFACE, 'eth0')
        .replaceAll(/^ {2}(user|group) haproxy\n/gm, '');
    writeFileSync(pathOf(name, 'haproxy.cfg'), here(addressesHaproxyConfig(own)));
    writeFileSync(pathOf(name, 'keepalived.conf'), here(addressesKeepalivedConfig(name, own)));
    writeFileSync(pathOf(name, 'check.sh'), addressesCheck, { mode: 0o700 });
  };

  const startHaproxy = (name: Holder): void => {
    haproxy.set(name, machines.start(name, 'haproxy', ['-W', '-f', pathOf(name, 'haproxy.cfg')]));
  };

  const startKeepalived = (name: Holder): void => {
    const files = ['--use-file', pathOf(name, 'keepalived.conf')];
    const pids = ['--pid', pathOf(name, 'keepalived.pid'), '--vrrp_pid', pathOf(name, 'vrrp.pid')];
    const args = ['--dont-fork', '--log-console', '--vrrp', ...files, ...pids];
    keepalived.set(name, machines.start(name, 'keepalived', args));
  };

  const ended = async (child: ChildProcess | undefined): Promise<void> => {
    const end = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGTERM');
    await end;
  };

  const holders = (): readonly Holder[] => NAMES.filter((name) => machines.hasAddress(name, ADDRESS));
  const answer = (): string => machines.ask('client', ADDRESS, WEB);

  const otherOf = (name: Holder): Holder => (name === 'h1' ? 'h2' : 'h1');

  /** The only node that holds the address and answers at it. */
  const settled = async (): Promise<Holder> => {
    await eventuallyPasses(() => {
      expect(holders()).toHaveLength(1);
      expect(answer()).toMatch(/^n[12]/);
    }, PATIENCE);
    return holders()[0]!;
  };

  const backAfter = async (loss: () => void | Promise<void>): Promise<number> => {
    const from = performance.now();
    await loss();
    await eventuallyPasses(() => expect(answer()).toMatch(/^n[12]/), { withinMs: 2 * BACK_WITHIN_MS });
    return performance.now() - from;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-failover-'));
    machines = new Machines();
    for (const [name, address] of Object.entries({ ...HOLDERS, ...NODES, client: CLIENT, stranger: STRANGER }))
      machines.add(name, address);
    for (const name of ['n1', 'n2'] as const)
      for (const port of [8080, 8443]) machines.start(name, process.execPath, greeter(name, port));
    machines.start('n1', process.execPath, greeter('n1', KUBELET));
    for (const name of NAMES) {
      mkdirSync(join(folder, name));
      write(name, ['n1', 'n2']);
      startHaproxy(name);
      startKeepalived(name);
    }
    await settled();
  }, 60_000);

  afterAll(async () => {
    await machines.remove();
    rmSync(folder, { recursive: true });
  }, 60_000);

  it('answers permitted clients, from every node behind it', async () => {
    await eventuallyPasses(
      () =>
        expect(new Set([answer(), answer(), answer()].map((text) => text.slice(0, 2)))).toEqual(new Set(['n1', 'n2'])),
      PATIENCE,
    );
  });

  it('refuses a client that is not allowed [ORBITER 26]', () =>
    expect([machines.ask('stranger', ADDRESS, WEB), machines.ask('client', ADDRESS, WEB)]).toEqual([
      '',
      expect.stringMatching(/^n[12]/),
    ]));

  it('sends clients to nodes with responding kubelets while no node passes its health check', async () => {
    const ask = (): string => machines.ask('client', ADDRESS, UNSURE).slice(0, 2);
    await eventuallyPasses(() => expect([ask(), ask(), ask(), ask()]).toEqual(['n1', 'n1', 'n1', 'n1']), PATIENCE);
  }, 30_000);

  it("forwards the client's address in a PROXY protocol header if declared", () => {
    const signature = '0d0a0d0a000d0a515549540a';
    const client = CLIENT.split('.')
      .map((part) => Number(part).toString(16).padStart(2, '0'))
      .join('');
    const [name, seen] = machines.ask('client', ADDRESS, PROXIED).split(' ');
    expect([name, seen]).toEqual(['n1', expect.stringContaining(signature)]);
    expect(seen).toContain(client);
    expect(machines.ask('client', ADDRESS, WEB)).not.toContain(signature);
  });

  it('recovers in less than 15 seconds when haproxy stops on its holder [ORBITER 26]', async () => {
    const holder = await settled();
    expect(await backAfter(() => ended(haproxy.get(holder)))).toBeLessThan(BACK_WITHIN_MS);
    expect(holders()).toEqual([otherOf(holder)]);
    startHaproxy(holder);
  }, 60_000);

  it('recovers in less than 15 seconds when its holder is gone, and stays on one node when that returns [ORBITER 26]', async () => {
    const holder = await settled();
    expect(await backAfter(() => machines.cutOff(holder))).toBeLessThan(BACK_WITHIN_MS);
    machines.reconnect(holder);
    await eventuallyPasses(() => expect(holders()).toHaveLength(1), PATIENCE);
    expect(answer()).toMatch(/^n[12]/);
  }, 60_000);

  it('is handed over when its holder shuts down', async () => {
    const holder = await settled();
    await ended(keepalived.get(holder));
    await eventuallyPasses(() => {
      expect(holders()).toEqual([otherOf(holder)]);
      expect(answer()).toMatch(/^n[12]/);
    }, PATIENCE);
    startKeepalived(holder);
  }, 60_000);

  it('drops no remaining node when another one leaves: the configuration is reloaded', async () => {
    const holder = await settled();
    write(holder, ['n2']);
    haproxy.get(holder)?.kill('SIGUSR2');
    await eventuallyPasses(
      () => expect([answer(), answer(), answer()].every((text) => text.startsWith('n2'))).toBe(true),
      PATIENCE,
    );
  }, 60_000);
});
