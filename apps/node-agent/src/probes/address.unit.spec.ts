import { NodeLoadBalancing, type AddressReport } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { node, uid } from '../agent/agent.fixtures.js';
import { Metronome } from '../time/metronome.js';
import { AddressProbes, type AddressLooks } from './address.probes.effects.js';
import { pauseAfter, reportsOf, serversIn } from './address.report.js';

const balancingOf = (upstreams: number): NodeLoadBalancing =>
  NodeLoadBalancing.parse({
    self: '198.18.7.21',
    pools: {
      web: Array.from({ length: upstreams }, (_, at) => ({
        node: `demo-web-${at + 1}-x7k2p`,
        address: `198.18.8.${at % 250}`,
      })),
    },
    addresses: [
      {
        name: 'ingress',
        address: '198.18.7.5',
        routerId: 5,
        priority: 254,
        peers: [],
        transports: [
          {
            name: 'https',
            frontendPort: 443,
            backendPort: 30443,
            backends: ['web'],
          },
        ],
      },
    ],
  });

/** Output of haproxy 2.6, reduced to some columns. */
const HEADER = '# pxname,svname,qcur,status,weight';
const STATS = `${HEADER}
ingress.https,FRONTEND,,OPEN,
ingress.https,demo-web-1-x7k2p,0,UP,1
ingress.https,demo-web-2-x7k2p,0,DOWN,1
ingress.https,demo-web-3-x7k2p,0,UP 2/3,1
ingress.https,BACKEND,0,UP,1
`;

const look = { stats: STATS, own: new Set(['198.18.7.5']), reached: new Map([['ingress.https', true]]) };

describe("a node's report of its virtual addresses", () => {
  it('has whether it holds each, and how many nodes behind each port respond [ORBITER 32]', () =>
    expect(reportsOf(balancingOf(3), look)).toEqual([
      {
        name: 'ingress',
        held: true,
        transports: [
          {
            name: 'https',
            reached: true,
            up: 2,
            of: 3,
            upstreams: { 'demo-web-2-x7k2p': false, 'demo-web-1-x7k2p': true, 'demo-web-3-x7k2p': true },
          },
        ],
      },
    ]));

  it('has no responding node if haproxy does not respond or has other output', () => {
    for (const stats of [undefined, '', 'no CSV', `${HEADER}\n,,,`])
      expect(reportsOf(balancingOf(3), { ...look, stats })[0]?.transports[0]).toMatchObject({ up: 0, of: 3 });
    expect(serversIn('x'.repeat(100)).size).toBe(0);
  });

  it('fits into a message of an agent, with failing nodes first', () => {
    const [report] = reportsOf(balancingOf(500), { ...look, stats: undefined });
    expect(report?.transports[0]).toMatchObject({ up: 0, of: 500 });
    expect(JSON.stringify(report).length).toBeLessThan(24_000);
    const stats = `${HEADER}\n${Array.from({ length: 499 }, (_, at) => `ingress.https,demo-web-${at + 1}-x7k2p,0,UP,1`).join('\n')}`;
    const [names] = reportsOf({ ...balancingOf(500) }, { ...look, stats });
    expect(Object.entries(names?.transports[0]?.upstreams ?? {})[0]).toEqual(['demo-web-500-x7k2p', false]);
  });

  it('is sent at most every ten seconds, and less often the longer it is', () =>
    expect([pauseAfter(100), pauseAfter(6_000)]).toEqual([10_000, 60_000]));
});

describe('the probes of virtual addresses', () => {
  let probes: AddressProbes | undefined;
  afterEach(() => probes?.stop());

  const started = (looks: Partial<AddressLooks>): AddressReport[][] => {
    const stated: AddressReport[][] = [];
    probes = new AddressProbes({
      identity: { uid, node },
      looks: {
        stats: () => Promise.resolve(STATS),
        connects: () => Promise.resolve(true),
        own: () => new Set(),
        ...looks,
      },
      metronome: new Metronome(),
      log: () => undefined,
      say: (facts) => {
        for (const { data } of facts) stated.push((data as { addresses: AddressReport[] }).addresses);
        return Promise.resolve();
      },
    });
    return stated;
  };

  it('state their observation once, and nothing without addresses', async () => {
    const stated = started({});
    probes?.set(null);
    probes?.set(balancingOf(3));
    await eventually(() => Promise.resolve(stated.length > 0 ? true : undefined));
    expect(stated).toHaveLength(1);
    expect(stated[0]?.[0]).toMatchObject({ held: false, transports: [{ reached: true, up: 2 }] });
  });
});
