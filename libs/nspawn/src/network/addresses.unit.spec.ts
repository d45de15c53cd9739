import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressPlanOf, overlap, toAddress } from './addresses.rules.js';

describe('the addresses of a network of hosts', () => {
  it('are the bridge, the hosts, the load balancers and Fairlead, in this order', () => {
    const plan = addressPlanOf('198.18.7.0/24')!;
    expect(plan).toMatchObject({ prefix: 24, gateway: '198.18.7.1', uplink: '198.18.7.254' });
    expect([plan.hosts.first, plan.hosts.last].map(toAddress)).toEqual(['198.18.7.11', '198.18.7.221']);
    expect([plan.balancers.first, plan.balancers.last].map(toAddress)).toEqual(['198.18.7.222', '198.18.7.253']);
  });

  it.each(['192.168.1.0/24', '198.20.0.0/24', '198.18.0.0/15', '198.18.7.0/27', '198.18.7.1/24', 'somewhere', '::/64'])(
    'are undefined for %s, which is not a valid network for hosts',
    (cidr) => expect(addressPlanOf(cidr)).toBeUndefined(),
  );

  it('are never assigned twice', () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 26 }), fc.integer({ min: 0, max: 2 ** 17 - 1 }), (prefix, offset) => {
        const size = 2 ** (32 - prefix);
        const base = (198 * 256 + 18) * 65_536 + Math.floor(offset / size) * size;
        const plan = addressPlanOf(`${toAddress(base)}/${prefix}`)!;
        const { hosts, balancers } = plan;
        expect(hosts.first).toBeGreaterThan(base + 1);
        expect(hosts.last).toBeGreaterThan(hosts.first);
        expect(balancers.first).toBe(hosts.last + 1);
        expect(toAddress(balancers.last + 1)).toBe(plan.uplink);
        expect(balancers.last + 1).toBeLessThan(base + size - 1);
      }),
    );
  });

  it.each([
    ['198.18.7.0/24', '198.18.7.128/26', true],
    ['198.18.7.0/26', '198.18.7.0/24', true],
    ['198.18.7.0/24', '198.18.8.0/24', false],
    ['198.18.7.0/24', '10.0.0.1/8', false],
    ['198.18.0.0/16', '198.18.255.254/32', true],
  ])('of %s and %s overlap: %s', (one, other, expected) => expect(overlap(one, other)).toBe(expected));
});
