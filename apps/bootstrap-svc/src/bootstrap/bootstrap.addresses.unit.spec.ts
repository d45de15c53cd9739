import type { Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { apiBalanced, balancedByNodes, cp, created, fit, machinesOf, requested, UID } from './bootstrap.fixtures.js';
import { ABSENT, type Bootstrap } from './bootstrap.state.js';
import { evolve } from './bootstrap.evolve.js';

const moved = (node: NodeName): Fact => ({
  type: 'VmAddressChanged',
  data: { uid: UID, node, publicIp: '203.0.113.9', privateIp: '10.9.9.9', ssh: { host: '203.0.113.9', port: 2222 } },
});

const hostsAfter = (...facts: readonly Fact[]) => {
  const state = facts.reduce<Bootstrap>(
    (before, fact, at) => evolve(before, stored(fact, at + 1) as StoredEvent),
    ABSENT,
  );
  if (state.status === 'absent') throw new Error('there is no cluster');
  return state.cluster.hosts;
};

describe('a machine with a new address', () => {
  const before = [requested(3, 0), balancedByNodes, created(machinesOf(3, 0)), ...fit(cp(1), cp(2), cp(3))];
  const balancing = [cp(1), cp(2), cp(3)].map((node) => apiBalanced(node, cp(1), cp(2), cp(3)));

  it('is reached at that address over SSH, with the same key and user [CB-Ladybug 35]', () => {
    const { ssh: old } = hostsAfter(...before)[cp(2)]!.machine;
    const { machine, hostKey } = hostsAfter(...before, moved(cp(2)))[cp(2)]!;
    expect([machine.publicIp, machine.privateIp]).toEqual(['203.0.113.9', '10.9.9.9']);
    expect(machine.ssh).toEqual({ ...old, host: '203.0.113.9', port: 2222 });
    expect(hostKey).toBe(hostsAfter(...before)[cp(2)]!.hostKey);
  });

  it('is balanced at that address: the balancer of every control plane is rewritten', () => {
    expect(hostsAfter(...before, ...balancing)[cp(1)]?.balances).toHaveLength(3);
    const hosts = hostsAfter(...before, ...balancing, moved(cp(2)));
    expect(Object.values(hosts).map(({ balances }) => balances)).toEqual([[], [], []]);
  });

  it('is ignored if it does not belong to the cluster', () => {
    const stranger = moved('stranger' as NodeName);
    expect(hostsAfter(...before, stranger)).toEqual(hostsAfter(...before));
  });
});
