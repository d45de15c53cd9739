import { NETWORK_PATHS } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import type { CommandResult } from '../node/host.ports.js';
import { FirewallPart } from './firewall.part.js';
import { FIREWALL } from './network.fixtures.js';
import type { Reached } from './network.ports.js';
import { nftablesRules } from './nftables.rules.js';

const REACHED: Reached = { reached: true, sentence: 'NATS is reached' };
const AWAY: Reached = { reached: false, sentence: 'NATS cannot be reached' };

describe('the firewall of a host', () => {
  let host: MemoryHost;
  let part: FirewallPart;
  let asked: string[];
  let hasNft: boolean;
  let nats: Reached;
  let required: string[];

  const answer = (line: string): CommandResult => {
    if (line === 'nft --version' && !hasNft) return { code: 127, stdout: '', stderr: 'not found' };
    return { code: 0, stdout: line.startsWith('nft list') ? 'table inet fairlead {}' : '', stderr: '' };
  };

  beforeEach(() => {
    host = new MemoryHost();
    host.files.set(NETWORK_PATHS.sshClients, '198.51.100.1\nno address\n198.51.100.2\n');
    [asked, required, hasNft, nats] = [[], [], true, REACHED];
    host.fault = (line) => {
      asked.push(line);
      return answer(line);
    };
    part = new FirewallPart({
      host,
      files: { at: (path) => path, remove: (path) => Promise.resolve(void host.files.delete(path)) },
      reach: { nats: () => Promise.resolve(nats), api: () => Promise.resolve(undefined) },
      sleep: () => Promise.resolve(),
      require: async (packages) => void required.push(...packages),
    });
  });

  it('is checked, tried under a timer, and confirmed; a second run changes nothing [ORBITER 24]', async () => {
    await part.apply({ firewall: FIREWALL });
    const confirmed = host.files.get(NETWORK_PATHS.firewall.confirmed);
    expect(confirmed).toBe(nftablesRules(FIREWALL, ['198.51.100.1', '198.51.100.2']));
    const { trial } = NETWORK_PATHS.firewall;
    const order = ['nft -c', 'systemd-run', `nft -f ${trial}`].map((words) =>
      asked.findIndex((line) => line.startsWith(words)),
    );
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(order).not.toContain(-1);
    asked.length = 0;
    await part.apply({ firewall: FIREWALL });
    expect(asked).toEqual(['nft --version', 'nft list table inet fairlead']);
    expect(host.files.get(NETWORK_PATHS.firewall.confirmed)).toBe(confirmed);
  });

  it('is not changed while NATS is unreachable, because the change could not be verified', async () => {
    nats = AWAY;
    await expect(part.apply({ firewall: FIREWALL })).rejects.toThrow('NATS cannot be reached');
    expect(asked.some((line) => line.startsWith('nft -f'))).toBe(false);
  });

  it('installs nftables if it is missing', async () => {
    hasNft = false;
    await part.apply({ firewall: FIREWALL });
    expect(required).toEqual(['nftables']);
  });

  it('is not changed if none was declared', async () => {
    await part.apply({});
    expect(asked).toEqual([]);
  });
});
