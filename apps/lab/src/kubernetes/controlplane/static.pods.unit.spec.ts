import { KUBERNETES_RELEASES, releaseOf } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { companionsOf, etcdReportedBy } from './static.pods.planner.js';

describe('the stand-in of kubeadm', () => {
  it.each(KUBERNETES_RELEASES)(
    'installs with $version the etcd, CoreDNS and pause image of that release',
    (release) => {
      const { version, etcd, coredns, pause } = release;
      expect(companionsOf(version)).toMatchObject({ etcd, coredns, pause });
    },
  );

  it('installs the images of the latest known patch release for a newer, unknown one', () => {
    expect(companionsOf('v1.34.99')).toBe(releaseOf('v1.34.11'));
    expect(companionsOf('v1.99.0')).toBe(KUBERNETES_RELEASES.at(-1));
    expect(companionsOf('v1.3.0')).toBe(KUBERNETES_RELEASES[0]);
  });
});

describe('the etcd of an image', () => {
  it.each([
    ['registry.k8s.io/etcd:3.5.16-0', '3.5.16'],
    ['registry.k8s.io/etcd:3.5.24-0', '3.5.35'],
    ['registry.example:5000/etcd:3.6.6-0', '3.6.8'],
    ['registry.example:5000/etcd', ''],
  ])('%s reports %s', (image, version) => expect(etcdReportedBy(image)).toBe(version));
});
