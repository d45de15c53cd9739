import { NodeLoadBalancing } from '@fairlead/contracts';
import { ADDRESSES, addressesHaproxyConfig, addressesKeepalivedConfig } from '@fairlead/node-scripts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryFiles } from '../files/memory.files.js';
import type { Host } from '../hosts/host.js';
import { LightSegment } from './light.segment.js';

const ADDRESS = '198.18.7.5';
const PORT = 80;

/** The state of a host that the segment reads. */
interface Simulated {
  readonly host: Host;
  readonly units: Record<string, { started: boolean }>;
  isOn: boolean;
}

const balancingOf = (self: string, priority: number): NodeLoadBalancing =>
  NodeLoadBalancing.parse({
    self,
    pools: {
      web: [
        { node: 'edge-1', address: '127.64.1.1' },
        { node: 'edge-2', address: '127.64.1.2' },
      ],
    },
    addresses: [
      {
        ...{ name: 'ingress', address: ADDRESS, routerId: 5, priority, peers: [] },
        transports: [{ name: 'http', frontendPort: PORT, backendPort: 30080, backends: ['web'] }],
      },
    ],
  });

describe('the simulated network of light hosts', () => {
  let segment: LightSegment;
  let first: Simulated;
  let second: Simulated;

  const added = (at: number, priority: number): Simulated => {
    const [name, address] = [`edge-${at}`, `127.64.1.${at}`];
    const balancing = balancingOf(address, priority);
    const texts: Readonly<Record<string, string>> = {
      [ADDRESSES.keepalived]: addressesKeepalivedConfig(name, balancing),
      [ADDRESSES.haproxy]: addressesHaproxyConfig(balancing),
    };
    const units = Object.fromEntries(
      [...ADDRESSES.units, 'kubelet.service'].map((unit) => [unit, { started: true }] as const),
    );
    const facts = { machineId: name, address };
    const simulated: Simulated = { host: undefined as never, units, isOn: true };
    const host = {
      facts,
      record: { units },
      get isOn() {
        return simulated.isOn;
      },
    } as unknown as Host;
    const files = { readBytes: (path: string) => Buffer.from(texts[path] ?? '') } as unknown as MemoryFiles;
    segment.attach(host, files);
    return Object.assign(simulated, { host });
  };
  const holder = (): readonly string[] =>
    [first, second].flatMap(({ host }) => (segment.looksOf(host).own().has(ADDRESS) ? [host.facts.machineId] : []));
  const servers = async ({ host }: Simulated): Promise<readonly string[]> =>
    ((await segment.looksOf(host).stats()) ?? '').split('\n').filter((line) => line.startsWith('ingress.http,'));

  beforeEach(() => {
    segment = new LightSegment();
    first = added(1, 253);
    second = added(2, 254);
  });

  it('assigns an address to the host with the highest priority, which keeps it while it can', () => {
    expect(holder()).toEqual(['edge-2']);
    second.isOn = false;
    expect(holder()).toEqual(['edge-1']);
    second.isOn = true;
    expect(holder()).toEqual(['edge-1']);
    first.units[ADDRESSES.units[0]]!.started = false;
    expect(holder()).toEqual(['edge-2']);
    segment.detach(second.host);
    expect(holder()).toEqual([]);
  });

  it('accepts connections only on an address that a host holds', async () => {
    const { connects } = segment.looksOf(first.host);
    expect([await connects(ADDRESS, PORT), await connects('198.18.7.6', PORT)]).toEqual([true, false]);
    for (const { units } of [first, second]) units[ADDRESSES.units[1]]!.started = false;
    expect(await connects(ADDRESS, PORT)).toBe(false);
    expect(await segment.looksOf(first.host).stats()).toBeUndefined();
  });

  it('reports whether the hosts of the nodes behind an address are on and their kubelets run', async () => {
    expect(await servers(first)).toEqual(['ingress.http,edge-1,UP', 'ingress.http,edge-2,UP']);
    second.units['kubelet.service']!.started = false;
    expect(await servers(first)).toEqual(['ingress.http,edge-1,UP', 'ingress.http,edge-2,DOWN']);
  });
});
