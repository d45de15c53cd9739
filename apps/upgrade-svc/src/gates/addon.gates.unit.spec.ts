import { releaseOf } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { UpgradeCluster, WorkloadView } from '../kubernetes/kubernetes.ports.js';
import { dnsRolledOut } from './addon.gates.js';
import type { GateLook, Verdict } from './gate.js';

const rolledOut: WorkloadView = {
  kind: 'Deployment',
  namespace: 'kube-system',
  name: 'coredns',
  desired: 2,
  ready: 2,
  updated: 2,
  former: 0,
  observed: true,
  version: 'v1.12.1',
};

const verdictOn = (dns: Partial<WorkloadView>, version: string | null = 'v1.34.4'): Promise<Verdict> =>
  dnsRolledOut({
    cluster: {
      workloads: async () => [{ ...rolledOut, ...dns }],
      staticPods: async () => [],
    } as unknown as UpgradeCluster,
    excused: [],
    release: version === null ? undefined : releaseOf(version),
  } as unknown as GateLook);

describe('C9: CoreDNS', () => {
  it('has rolled out once every pod has the new template and is Ready', async () =>
    expect(await verdictOn({})).toMatchObject({ holds: true }));

  it.each([
    ['a pod from before is still Ready', { former: 1 }, '1 old pods remain'],
    ['one of the new ones is not there yet', { updated: 1, former: 1 }, 'new in 1 of 2 pods'],
    ['one of the new ones is not Ready', { ready: 1 }, 'ready in 1 of 2 pods'],
    ['Kubernetes has not looked at it since', { observed: false }, 'has not seen'],
    ['it was left at the version from before', { version: 'v1.12.0' }, 'the target brings v1.12.1'],
  ])('has not while %s', async (_, dns, words) =>
    expect(await verdictOn(dns)).toMatchObject({ holds: false, message: expect.stringContaining(words) }),
  );

  it("may be newer than the target's version, or have a tag that is not a version", async () => {
    expect(await verdictOn({ version: 'v1.13.0' })).toMatchObject({ holds: true });
    expect(await verdictOn({ version: 'ours' })).toMatchObject({ holds: true });
  });

  it('keeps its version if Kubernetes does', async () =>
    expect(await verdictOn({ version: 'v1.11.3' }, null)).toMatchObject({ holds: true }));
});
