import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { API_ONLY, FIREWALL, OUTBOUND } from './network.fixtures.js';
import { nftablesRules } from './nftables.rules.js';

const golden = goldenBeside(import.meta.url);
const FAIRLEAD = ['198.51.100.1'];

describe('the rules of a node', () => {
  it('drop unlisted traffic before and after destination NAT, and do not affect forwarded traffic [ORBITER 26]', () => {
    golden('inbound.nft', nftablesRules(FIREWALL, FAIRLEAD));
  });

  it('limit outbound connections if declared', () => {
    golden('outbound.nft', nftablesRules(OUTBOUND, FAIRLEAD));
  });

  it('close only the ports of the Kubernetes API if that is the scope of the firewall', () => {
    golden('api.nft', nftablesRules(API_ONLY, FAIRLEAD));
  });

  it("replace only Fairlead's table", () => {
    const text = nftablesRules(OUTBOUND, FAIRLEAD);
    expect(text).not.toContain('flush');
    expect(text.match(/table \w+ \w+/g)?.every((table) => table === 'table inet fairlead')).toBe(true);
  });
});
