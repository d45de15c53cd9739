import type { Fact, NodeName, SecretRef } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { bootstrap } from './bootstrap.decider.js';
import { cp, fit, machinesOf, requested, created, UID, desiredAfter, wholeCluster } from './bootstrap.fixtures.js';
import { controlPlaneInitialized } from './bootstrap.fixtures.js';

const { given } = specification(bootstrap);
const FIRST_END = '2027-01-20T10:00:00.000Z';
const SOON_AFTER = '2027-01-20T10:07:00.000Z';
const RENEWED_END = '2027-11-22T10:00:00.000Z';

const reported = (node: NodeName, adminEndsAt: string): Fact<'CertificatesReported'> => ({
  type: 'CertificatesReported',
  data: {
    uid: UID,
    node,
    certificates: [
      { name: 'apiserver', expiresAt: RENEWED_END },
      { name: 'admin.conf', expiresAt: adminEndsAt },
    ],
  },
});
const refreshed: Fact<'KubeconfigRefreshed'> = {
  type: 'KubeconfigRefreshed',
  data: {
    uid: UID,
    node: cp(2),
    kubeconfigRef: `bootstrap-svc.kubeconfig.${UID}` as SecretRef,
    expiresAt: RENEWED_END,
  },
};
const refreshes = (...facts: readonly Fact[]): readonly string[] =>
  desiredAfter(...facts).filter((key) => key.startsWith('RefreshKubeconfig'));

describe("the administrator's kubeconfig of a cluster (F)", () => {
  const asMade = [...wholeCluster(), reported(cp(1), FIRST_END), reported(cp(2), SOON_AFTER)];

  it('is unchanged while no control plane has a newer one', () => {
    expect(refreshes(...wholeCluster())).toEqual([]);
    expect(refreshes(...asMade)).toEqual([]);
  });

  it('is read from the control plane on which it was renewed', () =>
    expect(refreshes(...asMade, reported(cp(2), RENEWED_END))).toEqual([`RefreshKubeconfig/${cp(2)}`]));

  it('is read once, although the other control planes are renewed shortly afterwards', () => {
    const whole = [...asMade, reported(cp(2), RENEWED_END), refreshed];
    expect(refreshes(...whole, reported(cp(3), '2027-11-22T10:05:00.000Z'))).toEqual([]);
    given(...whole)
      .when(refreshed)
      .thenNothing();
  });

  it('is read after the first report of its node, even if that precedes ControlPlaneInitialized', () => {
    const early = [requested(1, 0), created(machinesOf(1, 0)), ...fit(cp(1)), reported(cp(1), FIRST_END)];
    given(...early, controlPlaneInitialized)
      .when({ ...refreshed, data: { ...refreshed.data, expiresAt: FIRST_END } })
      .thenNothing();
  });
});
