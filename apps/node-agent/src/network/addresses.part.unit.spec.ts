import { NodeLoadBalancing, type NodeName } from '@fairlead/contracts';
import { ADDRESSES } from '@fairlead/node-scripts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import type { CommandResult } from '../node/host.ports.js';
import { AddressesPart } from './addresses.part.js';

const balancing = (nodes: readonly string[]): NodeLoadBalancing =>
  NodeLoadBalancing.parse({
    self: '198.18.7.21',
    pools: { web: nodes.map((node, at) => ({ node, address: `198.18.7.${31 + at}` })) },
    addresses: [
      {
        name: 'ingress',
        address: '198.18.7.5',
        routerId: 5,
        priority: 254,
        peers: ['198.18.7.22'],
        transports: [{ name: 'https', frontendPort: 443, backendPort: 30443, backends: ['web'] }],
      },
    ],
  });

const [KEEPALIVED, HAPROXY] = ADDRESSES.units;

describe('virtual addresses on a host', () => {
  let host: MemoryHost;
  let required: string[];
  let served: (NodeLoadBalancing | null)[];
  let refuses: string | undefined;
  let part: AddressesPart;

  /** Both programs accept every configuration unless the test overrides this. */
  const answer = (line: string): CommandResult | undefined => {
    const ok = { code: 0, stdout: '', stderr: '' };
    if (line.startsWith('ip -o address'))
      return { ...ok, stdout: '2: host0    inet 198.18.7.21/24 scope global host0\\       valid_lft forever\n' };
    if (refuses !== undefined && line.startsWith(refuses)) return { code: 1, stdout: '', stderr: 'unknown keyword' };
    if (/^(haproxy|keepalived) /.test(line)) return ok;
    const [, verb, ...rest] = line.split(' ');
    if (line.startsWith('systemctl enable --now')) host.active.add(rest.at(-1) ?? '');
    if (verb === 'disable') host.active.delete(rest.at(-1) ?? '');
    return undefined;
  };

  const apply = (nodes?: readonly string[]): Promise<void> =>
    part.apply(nodes === undefined ? {} : { loadBalancing: balancing(nodes) });
  const config = (): string => host.files.get(ADDRESSES.haproxy) ?? '';
  const unitChanges = (): readonly string[] => host.changes.filter((line) => line.startsWith('systemctl'));

  beforeEach(() => {
    host = new MemoryHost();
    host.fault = answer;
    for (const name of ['haproxy', 'keepalived']) host.files.set(`/usr/sbin/${name}`, 'program');
    [required, served, refuses] = [[], [], undefined];
    part = new AddressesPart({
      node: 'demo-e-1-aaaaa' as NodeName,
      host,
      files: {
        at: (path) => path,
        remove: (path) => {
          for (const file of [...host.files.keys()]) if (`${file}/`.startsWith(`${path}/`)) host.files.delete(file);
          return Promise.resolve();
        },
      },
      require: (names) => {
        required.push(...names);
        return Promise.resolve();
      },
      onServed: (now) => served.push(now),
    });
  });

  it('are set up once, and a second run changes nothing [ORBITER 24]', async () => {
    await apply(['w1', 'w2']);
    expect(config()).toContain('server w2 198.18.7.32:30443');
    expect(host.files.get(ADDRESSES.keepalived)).toMatch(/interface host0\n[^@]*dev host0/);
    expect(unitChanges().filter((line) => line.includes('enable'))).toEqual([
      `systemctl enable --now ${HAPROXY}`,
      `systemctl enable --now ${KEEPALIVED}`,
    ]);
    host.changes.length = 0;
    await apply(['w1', 'w2']);
    expect(host.changes).toEqual([]);
    expect(served.map((one) => one?.addresses.length)).toEqual([1, 1]);
  });

  it('are reloaded, never restarted, when the nodes behind them change', async () => {
    await apply(['w1', 'w2']);
    host.changes.length = 0;
    await apply(['w1']);
    expect(unitChanges()).toEqual([`systemctl reload ${HAPROXY}`, `systemctl reload ${KEEPALIVED}`]);
    expect(config()).not.toContain('w2');
  });

  it('are reloaded after a crash between writing the file and the reload', async () => {
    await apply(['w1', 'w2']);
    host.files.set(`${ADDRESSES.folder}/loaded`, 'what ran before');
    host.changes.length = 0;
    await apply(['w1', 'w2']);
    expect(unitChanges()).toEqual([`systemctl reload ${HAPROXY}`, `systemctl reload ${KEEPALIVED}`]);
  });

  it.each(['haproxy -c', 'keepalived --config-test'])(
    'keep running if %s rejects a new configuration',
    async (program) => {
      await apply(['w1', 'w2']);
      const before = new Map(host.files);
      [host.changes.length, refuses] = [0, program];
      await expect(apply(['w1'])).rejects.toThrow('unknown keyword');
      expect(new Map(host.files)).toEqual(before);
      expect(host.changes).toEqual([]);
    },
  );

  it('install missing programs, whose own services are not needed', async () => {
    host.files.delete('/usr/sbin/keepalived');
    await apply(['w1']);
    expect(required).toEqual(['keepalived']);
    expect(unitChanges()).toContain('systemctl disable --now keepalived.service');
  });

  it('require an interface with the address of the node, and report if there is none', async () => {
    host.fault = (line) => (line.startsWith('ip ') ? { code: 0, stdout: '', stderr: '' } : answer(line));
    await expect(apply(['w1'])).rejects.toThrow('no interface has the address 198.18.7.21');
    expect(config()).toBe('');
  });

  it('are removed when they are no longer declared, the address first', async () => {
    await apply(['w1']);
    host.changes.length = 0;
    await apply();
    expect(unitChanges()).toEqual([
      `systemctl disable --now ${KEEPALIVED}`,
      `systemctl disable --now ${HAPROXY}`,
      'systemctl daemon-reload',
    ]);
    expect([...host.files.keys()].filter((path) => path.includes('addresses'))).toEqual([]);
    expect(served.at(-1)).toBeNull();
    host.changes.length = 0;
    await apply();
    expect(host.changes).toEqual([]);
  });
});
