import { describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { aptPackages } from './apt.packages.js';
import { seenPackages } from './seen.packages.js';

const asked = (host: MemoryHost): readonly string[] => {
  const lines: string[] = [];
  host.fault = (line) => {
    if (line.startsWith('dpkg-query')) lines.push(line.split(' ').slice(3).join(' '));
    return undefined;
  };
  return lines;
};

describe('packages cached by an inspection', () => {
  it('are queried once each, including missing ones', async () => {
    const host = new MemoryHost();
    await aptPackages(host).install({ kubelet: '1.34.4' });
    const lines = asked(host);
    const seen = seenPackages(aptPackages(host));
    expect([...(await seen.installed(['kubelet', 'kubeadm']))]).toEqual([
      ['kubelet', { version: '1.34.4', held: true }],
    ]);
    expect([...(await seen.installed(['kubeadm', 'containerd']))]).toEqual([]);
    expect((await seen.installed(['kubelet'])).size).toBe(1);
    expect(lines).toEqual(['kubelet kubeadm', 'containerd']);
  });

  it('are queried again after an installation, also after a failed one', async () => {
    const host = new MemoryHost();
    const seen = seenPackages(aptPackages(host));
    expect((await seen.installed(['kubelet'])).size).toBe(0);
    await seen.install({ kubelet: '1.34.4' });
    expect((await seen.installed(['kubelet'])).get('kubelet')?.version).toBe('1.34.4');
    host.fault = (line) => {
      if (!line.startsWith('apt-mark')) return undefined;
      host.packages.set('kubelet', { version: '1.34.5-1.1', held: false });
      return { code: 1, stdout: '', stderr: 'no' };
    };
    await expect(seen.install({ kubelet: '1.34.5' })).rejects.toThrow('no');
    expect((await seen.installed(['kubelet'])).get('kubelet')?.version).toBe('1.34.5');
  });
});
