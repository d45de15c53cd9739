import { beforeEach, describe, expect, it } from '@jest/globals';
import { Blobs } from '../files/blobs.js';
import { MemoryFiles } from '../files/memory.files.js';
import type { ServiceManager } from '../services/service.manager.js';
import { Host } from './host.js';
import { newHostRecord, type HostFacts } from './host.record.js';

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
const BRIDGED = '/proc/sys/net/bridge/bridge-nf-call-iptables';
const facts: HostFacts = {
  ...{ machineId: 'm-1', name: 'demo-w-1', address: '10.0.0.1', cpuCount: 2, memoryGiB: 4 },
  ...{ region: 'lab-1', zone: 'lab-1a', osImage: 'Debian GNU/Linux 12 (bookworm)' },
};

describe('/proc of a simulated host', () => {
  let host: Host;
  const shown = async (path: string): Promise<string | undefined> => (await host.files.readText(path))?.trim();
  const modules = async (): Promise<readonly string[]> =>
    ((await shown('/proc/modules')) ?? '').split('\n').map((line) => line.split(' ')[0] ?? '');

  beforeEach(async () => {
    const hooks = { changed: () => undefined, programsChanged: () => Promise.resolve() };
    host = new Host(
      facts,
      newHostRecord(facts.name, ''),
      new MemoryFiles(new Blobs('/nowhere'), () => undefined),
      hooks,
    );
    host.services = { startDesired: () => Promise.resolve() } as unknown as ServiceManager;
    await host.boot();
  });

  it('lists the loaded modules, and the settings that exist only with one of them', async () => {
    expect([await modules(), await shown(BRIDGED)]).toEqual([[''], undefined]);
    await host.loadModule('overlay');
    await host.loadModule('br_netfilter');
    expect([await modules(), await shown(BRIDGED)]).toEqual([['overlay', 'br_netfilter'], '1']);
    await host.unloadModule('br_netfilter');
    expect([await modules(), await shown(BRIDGED)]).toEqual([['overlay'], undefined]);
    expect(await host.setSysctl('net.bridge.bridge-nf-call-iptables', '1')).toBe(false);
  });

  it('shows the settings as last set, and after a boot as configured in the files of the host', async () => {
    expect(await shown(FORWARDING)).toBe('0');
    await host.setSysctl('net.ipv4.ip_forward', '1');
    expect(await shown(FORWARDING)).toBe('1');
    await host.boot();
    expect(await shown(FORWARDING)).toBe('0');
    await host.files.writeText('/etc/sysctl.d/99-test.conf', 'net.ipv4.ip_forward = 1\n');
    await host.files.writeText('/etc/modules-load.d/test.conf', 'br_netfilter\n');
    await host.boot();
    expect([await shown(FORWARDING), await shown(BRIDGED), await modules()]).toEqual(['1', '1', ['br_netfilter']]);
  });
});
