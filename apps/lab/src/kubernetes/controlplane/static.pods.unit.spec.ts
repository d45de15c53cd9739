import { KUBERNETES_RELEASES, parseVersion } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { companionsOf } from './static.pods.planner.js';

/** The oldest minor version whose kubeadm this lab stands in for. */
const OLDEST_MINOR = 31;
const offered = KUBERNETES_RELEASES.filter(({ version }) => (parseVersion(version)?.minor ?? 0) >= OLDEST_MINOR);

describe('the stand-in of kubeadm', () => {
  it.each(offered)('installs with $version the etcd, CoreDNS and pause image of that release', (release) => {
    const { version, etcd, coredns, pause } = release;
    expect(companionsOf(version)).toMatchObject({ etcd, coredns, pause });
  });
});
