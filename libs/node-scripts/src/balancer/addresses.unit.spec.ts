import { describe, expect, it } from '@jest/globals';
import { goldenBeside } from '@fairlead/testing/golden';
import { IPV6_LOAD_BALANCING, LOAD_BALANCING } from './addresses.fixtures.js';
import { addressesHaproxyConfig } from './addresses.haproxy.js';
import { addressesCheck, addressesKeepalivedConfig } from './addresses.keepalived.js';
import { addressesHaproxyUnit, addressesKeepalivedUnit } from './balancer.units.js';

const golden = goldenBeside(import.meta.url);

describe('the balancer of virtual addresses', () => {
  it.each([
    ['addresses.haproxy.cfg', addressesHaproxyConfig(LOAD_BALANCING)],
    ['addresses.haproxy.ipv6.cfg', addressesHaproxyConfig(IPV6_LOAD_BALANCING)],
    ['addresses.keepalived.conf', addressesKeepalivedConfig('demo-web-1-x7k2p', LOAD_BALANCING)],
    ['addresses.keepalived.ipv6.conf', addressesKeepalivedConfig('demo-web-1-x7k2p', IPV6_LOAD_BALANCING)],
    ['addresses.check.bash', addressesCheck],
    ['fairlead-addresses-haproxy.service', addressesHaproxyUnit],
    ['fairlead-addresses-keepalived.service', addressesKeepalivedUnit],
  ])('matches its golden text: %s', (name, text) => golden(`${name}.golden`, text));

  it('has the same text for any order of nodes and peers', () => {
    const [first, second] = LOAD_BALANCING.addresses;
    const pools = Object.fromEntries(
      Object.entries(LOAD_BALANCING.pools).map(([pool, nodes]) => [pool, nodes.toReversed()]),
    );
    const turned = {
      ...LOAD_BALANCING,
      pools,
      addresses: [{ ...first!, peers: first!.peers.toReversed() }, second!],
    };
    expect(addressesHaproxyConfig(turned)).toBe(addressesHaproxyConfig(LOAD_BALANCING));
    expect(addressesKeepalivedConfig('n', turned)).toBe(addressesKeepalivedConfig('n', LOAD_BALANCING));
  });
});
