import { specification } from '@fairlead/event-sourcing/spec';
import type { KubernetesVersion, NodeChange } from '@fairlead/contracts';
import { describe, it } from '@jest/globals';
import { node, otherUid, SOFTWARE_1_34, uid } from '../nodes/nodes.fixtures.js';
import { desired, type SetDesiredVersions } from './desired.decider.js';

const { given } = specification(desired);

const at = (version: string) => ({ ...SOFTWARE_1_34, kubelet: version, kubeadm: version, kubectl: version });
const ask = (software = SOFTWARE_1_34, changesAllowed = true, of = uid): SetDesiredVersions => ({
  type: 'SetDesiredVersions',
  data: { uid: of, node, software, changesAllowed },
});
const set = (revision: number, software = SOFTWARE_1_34, changesAllowed = true, of = uid) => ({
  type: 'DesiredVersionsSet' as const,
  data: { uid: of, node, revision, software, changesAllowed },
});

const changeOf = (id: string): NodeChange => ({
  id,
  kubeadm: 'node',
  kubernetes: null,
  renewCertificates: false,
  reboot: false,
  balancedEndpoint: null,
  stopApiServerFirst: false,
  emulatedVersion: null,
});

describe('the desired versions of a node', () => {
  it('begin with revision 1', () => given().when(ask()).then(set(1)));
  it('are not stated twice', () => given(set(1)).when(ask()).thenNothing());
  it('get another revision when a version changes', () =>
    given(set(1))
      .when(ask(at('1.35.4')))
      .then(set(2, at('1.35.4'))));
  it('get another revision when the permission changes', () =>
    given(set(1))
      .when(ask(SOFTWARE_1_34, false))
      .then(set(2, SOFTWARE_1_34, false)));
  it('may go back to a lower patch', () =>
    given(set(1))
      .when(ask(at('1.34.1')))
      .then(set(2, at('1.34.1'))));
  it('may not go back to a lower minor', () =>
    given(set(1))
      .when(ask(at('1.33.13')))
      .thenRefused('upgrade.minor-downgrade'));
  it('compare versions numerically', () =>
    given(set(1, at('1.9.0')))
      .when(ask(at('1.10.0')))
      .then(set(2, at('1.10.0'))));
  it('keep the probes of the node, whatever else becomes desired, until they are withdrawn', () => {
    const probes = [{ name: 'shop', url: 'http://10.96.0.9/', everyMs: 500 }];
    const probing = (desired: ReturnType<typeof set>) => ({ ...desired, data: { ...desired.data, probes } });
    const begin = { type: 'SetProbes' as const, data: { uid, node, probes } };
    given(set(1))
      .when(begin)
      .then(probing(set(2)));
    given(set(1), probing(set(2)))
      .when(begin)
      .thenNothing();
    given(set(1), probing(set(2)))
      .when(ask(at('1.35.4')))
      .then(probing(set(3, at('1.35.4'))));
    given(set(1), probing(set(2)))
      .when({ type: 'WithdrawPermission', data: { uid, node } })
      .then(probing(set(3, SOFTWARE_1_34, false)));
    given(set(1), probing(set(2)))
      .when({ type: 'SetProbes', data: { uid, node, probes: [] } })
      .then(set(3));
  });
  it('carry a stage ahead of a permission until it is withdrawn', () => {
    const stage = {
      software: { kubeadm: '1.35.4' },
      dryRun: { kubernetes: 'v1.35.4' as KubernetesVersion, ignoredPreflightErrors: [] },
    };
    const asked = { type: 'SetStage' as const, data: { uid, node, id: 'u-1/dry-run', stage } };
    const closed = set(1, SOFTWARE_1_34, false);
    const staged = set(2, SOFTWARE_1_34, false);
    const stated = { ...staged, data: { ...staged.data, stage: { id: 'u-1/dry-run', ...stage } } };
    given(closed).when(asked).then(stated);
    given(closed, stated).when(asked).thenNothing();
    const withdrawn = { type: 'SetStage' as const, data: { uid, node, id: 'u-1/dry-run' } };
    given(closed, stated)
      .when(withdrawn)
      .then(set(3, SOFTWARE_1_34, false));
    given(closed, stated)
      .when({ ...withdrawn, data: { ...withdrawn.data, id: 'u-2/dry-run' } })
      .thenNothing();
    given().when(asked).thenNothing();
  });
  it('carry a change, which is requested once', () => {
    const change = changeOf('u-1/op-1');
    const asked = ask(at('1.35.4'));
    const desired = { ...asked, data: { ...asked.data, change } };
    const stated = { type: 'DesiredVersionsSet' as const, data: { ...set(2, at('1.35.4')).data, change } };
    given(set(1)).when(desired).then(stated);
    given(set(1), stated).when(desired).thenNothing();
  });
  it('may go back to a lower minor when a failed worker is rolled back, and only then', () => {
    const asked = ask(at('1.33.13'));
    given(set(1))
      .when({ ...asked, data: { ...asked.data, rollback: true } })
      .then(set(2, at('1.33.13')));
  });
  it('permit the agent nothing after the permission is withdrawn, once', () => {
    const withdraw = { type: 'WithdrawPermission' as const, data: { uid, node } };
    given(set(1))
      .when(withdraw)
      .then(set(2, SOFTWARE_1_34, false));
    given(set(1), set(2, SOFTWARE_1_34, false))
      .when(withdraw)
      .thenNothing();
    given().when(withdraw).thenNothing();
  });
  it('keep a permission that an upgrade gave while the cluster became Ready', () => {
    const stated = set(2, at('1.35.4'));
    const changed = { ...stated, data: { ...stated.data, change: changeOf('u-1/op-1') } };
    given(set(1), changed)
      .when({ type: 'WithdrawPermission', data: { uid, node, idle: true } })
      .thenNothing();
  });
  it('start from the beginning in the next cluster of the same name', () =>
    given(set(3, at('1.35.4')))
      .when(ask(SOFTWARE_1_34, true, otherUid))
      .then(set(1, SOFTWARE_1_34, true, otherUid)));
});
