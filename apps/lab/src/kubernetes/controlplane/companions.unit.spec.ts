import { KUBERNETES_RELEASES } from '@fairlead/contracts';
import { expect, it } from '@jest/globals';
import { companionsOf } from './static.pods.planner.js';

it.each(KUBERNETES_RELEASES)('kubeadm $version comes with the etcd and the CoreDNS of its release', (release) => {
  const { etcd, coredns } = companionsOf(release.version);
  expect([etcd, coredns]).toEqual([release.etcd, release.coredns]);
});
