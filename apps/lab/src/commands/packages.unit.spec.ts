import { KUBERNETES_RELEASES } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { packageNamed, upstreamVersion, versionMatching } from './packages.js';

describe('the simulated mirror', () => {
  it('has all node packages of every release that Fairlead supports', () => {
    for (const { version, containerd } of KUBERNETES_RELEASES) {
      for (const name of ['kubelet', 'kubeadm', 'kubectl']) {
        const found = versionMatching(packageNamed(name)!, `${version.slice(1)}-*`);
        expect(found === undefined ? undefined : upstreamVersion(found)).toBe(version.slice(1));
      }
      expect(versionMatching(packageNamed('containerd')!, `${containerd}*`)).toBe(`${containerd}-1`);
    }
  });

  it('distinguishes patch versions that share a prefix, and returns the newest match', () => {
    expect(versionMatching(packageNamed('kubelet')!, '1.30.1-*')).toBe('1.30.1-1.1');
    expect(versionMatching(packageNamed('kubelet')!, '1.30.1*')).toBe('1.30.17-1.1');
  });

  it('returns the newest version by default, and nothing for an unknown version', () => {
    expect(versionMatching(packageNamed('containerd')!, undefined)).toBe('2.1.4-1');
    expect(versionMatching(packageNamed('kubelet')!, '9.9*')).toBeUndefined();
    expect(packageNamed('nonsense')).toBeUndefined();
  });
});
