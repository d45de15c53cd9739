import { VirtualAddress, type AddressReport } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { addressReadings, transportReadings, upstreamCounts, upstreamReadings } from '../metrics/address.readings.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { addressFacts, addressStatuses, addressView } from './virtual-addresses.js';

const ingress = VirtualAddress.parse({
  name: 'ingress',
  address: '198.18.7.5',
  holders: ['edge'],
  transports: [{ name: 'https', frontendPort: 443, backendPort: 30443, backends: ['edge'] }],
});

type Witness = Parameters<typeof addressStatuses>[1][number];

const report = (held: boolean, upstreams: Record<string, boolean> = { e1: true, e2: false }): AddressReport =>
  ({
    name: 'ingress',
    held,
    transports: [
      {
        name: 'https',
        reached: true,
        up: Object.values(upstreams).filter(Boolean).length,
        of: Object.keys(upstreams).length,
        upstreams,
      },
    ],
  }) as AddressReport;

const witness = (name: string, since: string, one: AddressReport, change: Partial<NodeDoc> = {}): Witness =>
  ({
    name,
    pool: 'edge',
    isLost: false,
    isRemoving: false,
    addresses: { reports: [one], since },
    ...change,
  }) as Witness;

const [T1, T2] = ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z'];

describe('how a virtual address is', () => {
  it('follows from what the node says that holds it, with the nodes behind it [ORBITER 32]', () => {
    const [status] = addressStatuses([ingress], [witness('e1', T1, report(true)), witness('e2', T2, report(false))]);
    expect(addressView(status!)).toEqual({
      name: 'ingress',
      address: '198.18.7.5',
      holder: 'e1',
      since: T1,
      transports: [{ name: 'https', frontendPort: 443, reached: true, up: 1, of: 2, down: ['e2'] }],
    });
  });

  it('follows from whoever took it over last, and not from a node that is lost', () => {
    const both = [witness('e1', T1, report(true)), witness('e2', T2, report(true))];
    expect(addressStatuses([ingress], both)[0]?.holder).toBe('e2');
    const lost = [both[0]!, witness('e2', T2, report(true), { isLost: true })];
    expect(addressStatuses([ingress], lost)[0]?.holder).toBe('e1');
    expect(addressStatuses([ingress], [lost[1]!])[0]?.holder).toBeNull();
  });

  it('does not follow from addresses that are not declared, or nodes that are not there', () => {
    const forged = { ...report(true), name: 'forged' } as AddressReport;
    const one = witness('e1', T1, report(true, { e1: true, ghost: true }));
    const node = { ...one, addresses: { reports: [forged, ...one.addresses!.reports], since: T1 } };
    const statuses = addressStatuses([ingress], [node]);
    expect(statuses.map(({ name }) => name)).toEqual(['ingress']);
    expect([...statuses[0]!.transports[0]!.upstreams.keys()]).toEqual(['e1']);
  });

  it('is being configured while a node that may hold it has not answered', () => {
    const waiting = { state: 'waiting', revision: '0', since: T1, message: '', attempt: 1 } as const;
    const [facts] = addressFacts(
      addressStatuses(
        [ingress],
        [{ ...witness('e1', T1, report(false)), addresses: undefined, network: waiting } as never],
      ),
    );
    expect(facts).toMatchObject({ holder: null, isConfiguring: true, unreached: ['https'], empty: ['https'] });
  });

  it('is a number for Prometheus: each address, each port and each node behind it [ORBITER 32]', () => {
    const statuses = addressStatuses([ingress], [witness('e1', T1, report(true)), witness('e2', T2, report(false))]);
    const clusters = [{ namespace: 'default', cluster: 'shop', statuses }];
    const labels = { namespace: 'default', cluster: 'shop', address: 'ingress' };
    expect(addressReadings(clusters)).toEqual([{ labels, value: 1 }]);
    expect(transportReadings(clusters)).toEqual([{ labels: { ...labels, transport: 'https' }, value: 1 }]);
    expect(upstreamReadings(clusters)).toEqual([
      { labels: { ...labels, transport: 'https', upstream: 'e1' }, value: 1 },
      { labels: { ...labels, transport: 'https', upstream: 'e2' }, value: 0 },
    ]);
    expect(upstreamCounts(clusters).map(({ value }) => value)).toEqual([1, 1]);
    const dead = [{ ...clusters[0]!, statuses: addressStatuses([ingress], []) }];
    expect(addressReadings(dead)).toEqual([{ labels, value: 0 }]);
  });

  it('fills no memory: no gauge has more than 10,000 series', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, true]));
    const nodes = Object.keys(many).map((name) => witness(name, T1, report(false)));
    const statuses = addressStatuses([ingress], [...nodes, witness('e1', T2, report(true, many))]);
    const clusters = Array.from({ length: 50 }, (_, at) => ({ namespace: 'default', cluster: `c${at}`, statuses }));
    expect(upstreamReadings(clusters)).toHaveLength(10_000);
  });
});
