import { apiRouterId, HOLDERS_MAX, upstreamsOf, VirtualAddress, type NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { balancingOf, holdersOf, routerIdsOf, type BalancingBasis, type BalancingNode } from './balancing.planner.js';

const UID = '7d1c9f0e-6a6b-4b8e-9c55-2f3e1d4a5b6c';

const ingress = VirtualAddress.parse({
  name: 'ingress',
  address: '198.18.7.5',
  holders: ['edge'],
  transports: [{ name: 'https', frontendPort: 443, backendPort: 30443, backends: ['web', 'edge'] }],
});
const second = VirtualAddress.parse({ ...ingress, name: 'second', address: '198.18.9.5' });

const node = (pool: string, last: number, more: Partial<BalancingNode> = {}): BalancingNode => ({
  pool,
  address: `198.18.7.${last}`,
  hasAgent: true,
  isLeaving: false,
  isDraining: false,
  isYielding: false,
  isLost: false,
  ...more,
});

const basis = (nodes: BalancingBasis['nodes'], more: Partial<BalancingBasis> = {}): BalancingBasis => ({
  uid: UID,
  declared: [ingress],
  nodes,
  routerIds: {},
  serving: {},
  ...more,
});

const of = (given: BalancingBasis, name: string) => balancingOf(given).get(name as NodeName)?.addresses[0];
const behind = (given: BalancingBasis, name: string) => {
  const balancing = balancingOf(given).get(name as NodeName);
  const transport = balancing?.addresses[0]?.transports[0];
  return balancing === undefined || transport === undefined ? undefined : upstreamsOf(balancing, transport);
};

describe('the nodes that hold a virtual address', () => {
  const two = { e1: node('edge', 21), e2: node('edge', 22), w1: node('web', 31) };

  it("have priorities so far apart that the next holder's advertisement reaches all before another one takes the address", () => {
    const nodes = Array.from({ length: HOLDERS_MAX }, (_, at) => [`e${at}`, node('edge', 21 + at)] as const);
    const most = basis(Object.fromEntries(nodes));
    const waitsMs = nodes
      .map(([name]) => ((256 - (of(most, name)?.priority ?? 0)) / 256) * 1_000)
      .toSorted((a, b) => a - b);
    const apart = waitsMs.slice(1).map((wait, at) => wait - (waitsMs[at] ?? wait));
    expect(Math.min(...apart)).toBeGreaterThan(50);
    expect(Math.max(...waitsMs)).toBeLessThan(1_000);
  });

  it('are those of its pools, each with the others as its peers', () => {
    const [e1, e2] = [of(basis(two), 'e1'), of(basis(two), 'e2')];
    expect([e1?.peers, e2?.peers]).toEqual([['198.18.7.22'], ['198.18.7.21']]);
    expect(of(basis(two), 'w1')).toBeUndefined();
  });

  it('forward to the backend nodes, wherever these are', () =>
    expect(behind(basis(two), 'e1')?.map(({ node: name }) => name)).toEqual(['e1', 'e2', 'w1']));

  it('forward to a new node once its agent runs, and to its new address when that changes', () => {
    expect(behind(basis({ ...two, w2: node('web', 32, { hasAgent: false }) }), 'e1')).toHaveLength(3);
    const moved = basis({ ...two, w1: node('web', 99) });
    expect(behind(moved, 'e1')?.at(-1)).toEqual({ node: 'w1', address: '198.18.7.99' });
  });

  it('do not forward to a node that is being removed', () =>
    expect(behind(basis({ ...two, w1: node('web', 31, { isLeaving: true }) }), 'e1')).toHaveLength(2));

  it('forward to a draining node only while no other one responds', () =>
    expect(behind(basis({ ...two, w1: node('web', 31, { isDraining: true }) }), 'e1')?.at(-1)).toEqual({
      node: 'w1',
      address: '198.18.7.31',
      reserve: true,
    }));

  it('keep an address until another one has stated that it can hold it', () => {
    const leaving = { ...two, e1: node('edge', 21, { isLeaving: true }) };
    expect([...holdersOf(basis(leaving), ingress)].toSorted()).toEqual(['e1', 'e2']);
    expect(holdersOf(basis(leaving, { serving: { e2: ['ingress'] } }), ingress)).toEqual(['e2']);
    const lost = { ...leaving, e2: node('edge', 22, { isLost: true }) };
    expect(holdersOf(basis(lost, { serving: { e2: ['ingress'] } }), ingress)).toContain('e1');
    expect(holdersOf(basis({ e1: leaving.e1 }), ingress)).toEqual(['e1']);
  });

  it('exclude nodes with a requested drain or reboot once another one can hold it; for the others nothing changes', () => {
    const yielding = { ...two, e1: node('edge', 21, { isYielding: true }) };
    expect(of(basis(yielding), 'e1')).toBeDefined();
    const relieved = basis(yielding, { serving: { e1: ['ingress'], e2: ['ingress'] } });
    expect(of(relieved, 'e1')).toBeUndefined();
    expect(of(relieved, 'e2')).toEqual(of(basis(two), 'e2'));
    const both = { ...yielding, e2: node('edge', 22, { isYielding: true }) };
    expect(of(basis(both, { serving: { e1: ['ingress'], e2: ['ingress'] } }), 'e1')).toBeDefined();
  });

  it('are at most 16, including the current holder', () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`e${at}`, node('edge', at + 1)]));
    const chosen = holdersOf(basis(many), ingress);
    expect(chosen).toHaveLength(16);
    const other = Object.keys(many).find((name) => !chosen.includes(name as NodeName))!;
    expect(holdersOf(basis(many, { serving: { [other]: ['ingress'] } }), ingress)).toContain(other);
  });
});

describe('the VRRP group of a virtual address', () => {
  const ids = (more: Partial<BalancingBasis> = {}) => routerIdsOf(basis({}, { declared: [ingress, second], ...more }));

  it('is the last octet of an IPv4 address, and unique per address', () =>
    expect(ids()).toEqual({ ingress: 5, second: 6 }));

  it('is not that of the Kubernetes API', () => {
    const own = VirtualAddress.parse({ ...ingress, address: `198.18.7.${apiRouterId(UID)}` });
    expect(ids({ declared: [own] })['ingress']).not.toBe(apiRouterId(UID));
  });

  it('does not change when other addresses are added or removed', () =>
    expect(ids({ routerIds: { second: 6 }, declared: [second] })).toEqual({ second: 6 }));
});

type Step = readonly [what: 'join' | 'apply' | 'leave' | 'vanish' | 'drain' | 'yield' | 'move' | 'lose', at: number];
const steps = fc.array(
  fc.tuple(
    fc.constantFrom('join', 'apply', 'leave', 'vanish', 'drain', 'yield', 'move', 'lose'),
    fc.nat(11),
  ) as fc.Arbitrary<Step>,
  { maxLength: 60 },
);

/** Random changes of a cluster and of its agents. */
const after = (before: BalancingBasis, [what, at]: Step): BalancingBasis => {
  const name = `n${at}`;
  const known = before.nodes[name];
  const withNode = (changed: BalancingNode) => ({ ...before, nodes: { ...before.nodes, [name]: changed } });
  if (known === undefined) return what === 'join' ? withNode(node(at % 2 === 0 ? 'edge' : 'web', at + 10)) : before;
  switch (what) {
    case 'leave':
      return withNode({ ...known, isLeaving: true });
    case 'drain':
      return withNode({ ...known, isDraining: !known.isDraining });
    case 'yield':
      return withNode({ ...known, isYielding: !known.isYielding });
    case 'lose':
      return withNode({ ...known, isLost: !known.isLost });
    case 'move':
      return withNode({ ...known, address: `198.18.8.${at}` });
    case 'apply': {
      const names =
        balancingOf(before)
          .get(name as NodeName)
          ?.addresses.map((held) => held.name) ?? [];
      return { ...before, routerIds: routerIdsOf(before), serving: { ...before.serving, [name]: names } };
    }
    case 'vanish': {
      if (!known.isLeaving) return before;
      const { [name]: _gone, ...nodes } = before.nodes;
      const { [name]: _words, ...serving } = before.serving;
      return { ...before, nodes, serving };
    }
    default:
      return before;
  }
};

describe('virtual addresses through any change of nodes', () => {
  it('have a holder if one is possible, keep a serving one, and do not forward to a leaving node', () =>
    fc.assert(
      fc.property(steps, (all) => {
        let now = basis({}, { declared: [ingress, second] });
        for (const step of all) {
          now = after(now, step);
          for (const address of now.declared) {
            const holders = holdersOf(now, address).filter((name) =>
              balancingOf(now)
                .get(name)
                ?.addresses.some((held) => held.name === address.name),
            );
            const possible = Object.entries(now.nodes).filter(([, { pool }]) => pool === 'edge');
            expect(holders.length > 0).toBe(possible.length > 0);
            const serving = possible.filter(
              ([name, { isLost }]) => !isLost && now.serving[name]?.includes(address.name),
            );
            if (serving.length > 0) expect(serving.some(([name]) => holders.includes(name as NodeName))).toBe(true);
          }
          for (const { pools } of balancingOf(now).values())
            for (const { node: upstream } of Object.values(pools).flat())
              expect(now.nodes[upstream]?.isLeaving).toBe(false);
          const given = Object.values(routerIdsOf(now));
          expect(new Set([...given, apiRouterId(UID)]).size).toBe(given.length + 1);
        }
      }),
      { numRuns: 300 },
    ));
});
