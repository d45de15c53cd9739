import type { ClusterSpec, Fact, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterReady, CREATE, inLog, nodeFact, rowsOf, uid } from '../story.fixtures.js';
import { addonsAfter, addonsOf, allAddons } from './addons.evolve.js';
import { clustersProjection } from './clusters.projection.js';

const requested = CREATE[0] as Fact<'ClusterRequested'>;
const withStorage: ClusterSpec = {
  ...requested.data.spec,
  kubernetes: {
    ...requested.data.spec.kubernetes,
    networkCni: 'kilo',
    storageclass: { nfs: { server: '10.0.0.5', path: '/data' } },
  },
};
const asked: Fact = { type: 'ClusterRequested', data: { ...requested.data, spec: withStorage } };
const history: readonly Fact[] = [asked, ...CREATE.slice(1)];
const cause = (operation: string, message: string) => ({ operation, target: 'demo', message, retryable: true });
const installed = (addon: string, version: string): Fact => ({ type: 'AddonInstalled', data: { uid, addon, version } });
const stepFailed = (step: string, message: string, nextAttemptAt: string | null): Fact =>
  ({
    type: 'BootstrapStepFailed',
    data: { uid, step, cause: cause('install it', message), attempt: 3, attemptsMax: 40, nextAttemptAt },
  }) as Fact;
const soon = '2026-01-01T00:10:00.000Z';
const kubeadm = [installed('kube-proxy', 'v1.34.4'), installed('coredns', 'v1.12.1')];
const upToReady = [...history.slice(0, -1), ...kubeadm, clusterReady];

const phasesAfter = (...facts: readonly Fact[]): Readonly<Record<string, string>> => {
  const [first, ...events] = facts.map((fact, at) => stored(fact, at + 1));
  if (first?.type !== 'ClusterRequested') throw new Error('a cluster begins with its request');
  const doc = events.reduce(addonsAfter, addonsOf(first.data.spec, first.meta.time));
  return Object.fromEntries(
    doc.addons.map(({ name, phase, version, revision }) => [
      name,
      `${phase} ${version} ${revision}`.replace('  ', ' '),
    ]),
  );
};
const upTo = (type: StoredEvent['type']): readonly Fact[] =>
  history.slice(0, history.findIndex((fact) => fact.type === type) + 1);
const world = (...facts: readonly Fact[]) => rowsOf(clustersProjection, inLog(facts))[0];
const upgrade = (type: string, data: object): Fact =>
  ({ type, data: { uid, upgradeId: 'u-1', ...data } }) as unknown as Fact;
const planned = upgrade('UpgradePlanned', {
  plan: {
    operations: [
      { id: 'op-1', kind: 'control-plane' },
      { id: 'op-2', kind: 'addons' },
    ],
  },
});
const started = (operation: string): Fact => upgrade('OperationStarted', { operation, node: null });

describe('the addons of a cluster', () => {
  it('of kubeadm may be those of a snapshot until they were applied again, and fail by name where they cannot be', () => {
    const restoring: Fact = {
      type: 'EtcdRestoreAdvanced',
      data: { uid, requestId: 'r', step: 'verify', cause: null },
    };
    const reapplied: Fact = {
      type: 'DeclaredStateReapplied',
      data: { uid, requestId: 'r', kubernetesVersion: 'v1.35.4' },
    };
    const facts = [...upToReady, restoring];
    expect(phasesAfter(...facts)).toMatchObject({
      'kube-proxy': 'Upgrading v1.34.4 1',
      coredns: 'Upgrading v1.12.1 1',
    });
    expect(phasesAfter(...facts, stepFailed('ReapplyDeclared', 'HTTP 403', soon))).toMatchObject({
      'kube-proxy': 'Failed v1.34.4 1',
    });
    expect(phasesAfter(...facts, reapplied)).toMatchObject({
      'kube-proxy': 'Deployed v1.35.4 2',
      coredns: 'Deployed v1.13.1 2',
    });
  });

  it('are pending until it is accepted, and are prepared while its machines are made [azimuth 20]', () => {
    expect(phasesAfter(asked)).toEqual({
      ...{ kilo: 'Pending 0', 'kube-proxy': 'Pending 0', coredns: 'Pending 0' },
      'nfs-storage': 'Pending 0',
    });
    expect(Object.values(phasesAfter(...upTo('ClusterAccepted')))).toEqual(Array(4).fill('Preparing 0'));
    expect(phasesAfter(requested)).not.toHaveProperty('nfs-storage');
  });

  it('are installed from the control plane on, and storage once the cluster is Ready [azimuth 20]', () => {
    expect(phasesAfter(...upTo('ControlPlaneInitialized'))).toMatchObject({
      ...{ kilo: 'Installing 0', coredns: 'Installing 0', 'nfs-storage': 'Preparing 0' },
    });
    expect(phasesAfter(...upTo('NetworkReady'))).toMatchObject({ kilo: 'Deployed 1 1', coredns: 'Installing 0' });
    expect(phasesAfter(...upToReady)).toEqual({
      ...{ kilo: 'Deployed 1 1', 'kube-proxy': 'Deployed v1.34.4 1', coredns: 'Deployed v1.12.1 1' },
      'nfs-storage': 'Installing 0',
    });
    expect(phasesAfter(...upToReady, installed('nfs-storage', 'v4.0.2'))).toMatchObject({
      'nfs-storage': 'Deployed v4.0.2 1',
    });
  });

  it('are upgraded with the cluster, to another revision if their version is another one [azimuth 20]', () => {
    const before = [...upToReady, planned, started('op-1')];
    expect(phasesAfter(...before)).toMatchObject({ coredns: 'Deployed v1.12.1 1' });
    expect(phasesAfter(...before, started('op-2'))).toMatchObject({
      ...{ coredns: 'Upgrading v1.12.1 1', 'kube-proxy': 'Upgrading v1.34.4 1', kilo: 'Deployed 1 1' },
    });
    const addons = { 'kube-proxy': 'v1.35.4', coredns: 'v1.12.1' };
    const done = upgrade('AddonsUpgraded', { operation: 'op-2', addons });
    expect(phasesAfter(...before, started('op-2'), done)).toMatchObject({
      ...{ coredns: 'Deployed v1.12.1 1', 'kube-proxy': 'Deployed v1.35.4 2' },
    });
  });

  it('have failed while an upgrade finds that they do not serve, and recover once they do [azimuth 20]', () => {
    const gate = { operation: 'op-1', stage: 'after', gate: 'dns', rule: 'C9', node: null, facts: {} };
    const failed = upgrade('GateFailed', { ...gate, message: 'coredns has 0 of 2 pods ready' });
    expect(phasesAfter(...upToReady, failed)).toMatchObject({ coredns: 'Upgrading v1.12.1 1', kilo: 'Deployed 1 1' });
    const last = { node: null, cause: cause('look', 'x'), attempt: 10, attemptsMax: 10, nextAttemptAt: null };
    const given = upgrade('OperationFailed', { ...last, operation: 'op-1' });
    expect(phasesAfter(...upToReady, failed, given)).toMatchObject({
      ...{ coredns: 'Failed v1.12.1 1', 'kube-proxy': 'Deployed v1.34.4 1' },
    });
    expect(phasesAfter(...upToReady, failed, given, upgrade('GatePassed', { ...gate, waitedMs: 1 }))).toMatchObject({
      coredns: 'Deployed v1.12.1 1',
    });
    const stopped = upgrade('OperationFailed', { ...last, operation: 'op-2' });
    expect(phasesAfter(...upToReady, planned, started('op-2'), stopped)).toMatchObject({
      coredns: expect.stringMatching(/^Failed/),
    });
  });

  it('are uninstalled with their cluster [azimuth 20]', () => {
    const phases = Object.values(phasesAfter(...upToReady, { type: 'ClusterDeletionRequested', data: { uid } }));
    expect(phases.every((phase) => phase.startsWith('Uninstalling'))).toBe(true);
  });

  it('that does not serve yet is named by the step before the cluster is Ready; nodes have failures of their own', () => {
    const serving = history.slice(0, -1);
    const dns = stepFailed('InstallAddons', 'kube-system/coredns has 0 of 2 pods ready', soon);
    expect(phasesAfter(...serving, dns)).toMatchObject({ coredns: 'Failed 0', 'kube-proxy': 'Installing 0' });
    expect(phasesAfter(...upToReady, dns)).toMatchObject({ coredns: 'Deployed v1.12.1 1' });
    const network = stepFailed('InstallNetwork', 'the API does not answer', soon);
    expect(phasesAfter(...upTo('ControlPlaneInitialized'), network)).toMatchObject({ kilo: 'Failed 0' });
  });

  it('that has failed leaves the cluster Provisioned, with its words and its reason code [azimuth 20]', () => {
    const failed = stepFailed('InstallStorage', 'the server refuses it', soon);
    const row = world(...upToReady, failed);
    expect([row?.phase, row?.reason]).toEqual(['Provisioned', 'StorageClassFailed']);
    const storage = row?.addons?.addons.at(-1);
    expect([storage?.phase, storage?.message]).toEqual([
      'Failed',
      expect.stringContaining(`the server refuses it (attempt 3 of 40, next at ${soon})`),
    ]);
    const healed = world(...upToReady, failed, installed('nfs-storage', 'v4.0.2'));
    expect([healed?.reason, healed?.message, healed?.addons?.addons.at(-1)?.phase]).toEqual(['', '', 'Deployed']);
  });

  it('that is found degraded later has failed, with what was found, until it runs again [azimuth 20]', () => {
    const message = 'there is no Deployment kube-system/coredns';
    const degraded: Fact = { type: 'AddonDegraded', data: { uid, addon: 'coredns', message } };
    const row = world(...upToReady, degraded);
    expect([row?.phase, row?.reason, row?.addons?.addons.find(({ name }) => name === 'coredns')]).toMatchObject([
      ...['Provisioned', ''],
      { phase: 'Failed', version: 'v1.12.1', message },
    ]);
    const recovered: Fact = { type: 'AddonRecovered', data: { uid, addon: 'coredns' } };
    expect(phasesAfter(...upToReady, degraded, recovered)).toEqual(phasesAfter(...upToReady));
  });

  it('of the manifest go from Pending over Preparing and Installing to Deployed, fail by name, are changed outside, and leave the list when they are uninstalled [azimuth 20]', () => {
    const declaring = (...names: readonly string[]): Fact =>
      ({
        type: 'ClusterSpecChanged',
        data: { uid, spec: { controlPlane: {}, pools: [], addons: names.map((name) => ({ name })) } },
      }) as unknown as Fact;
    const fact = (type: string, data: object = {}): Fact =>
      ({ type, data: { uid, addon: 'metrics', declaration: 'e', version: '3.13.0', ...data } }) as unknown as Fact;
    const shown = (...facts: readonly Fact[]): string => {
      const [first, ...events] = [...upToReady, declaring('metrics'), ...facts].map((one, at) => stored(one, at + 1));
      if (first?.type !== 'ClusterRequested') throw new Error('a cluster begins with its request');
      const doc = events.reduce(addonsAfter, addonsOf(first.data.spec, first.meta.time));
      const found = allAddons(doc).find(({ name }) => name === 'metrics');
      return found === undefined ? 'none' : `${found.phase} ${found.version} ${found.revision} ${found.message}`.trim();
    };
    const deployed = fact('AddonDeployed', { revision: 3 });
    const failed = fact('AddonFailed', {
      cause: cause('helm upgrade', 'no'),
      attempt: 1,
      attemptsMax: 2,
      nextAttemptAt: soon,
    });
    expect(shown()).toBe('Pending  0');
    expect(shown(fact('AddonRequested'))).toBe('Pending  0');
    expect(shown(fact('AddonPreparing'))).toBe('Preparing  0');
    expect(shown(fact('AddonInstalling'))).toBe('Installing  0');
    expect(shown(deployed)).toBe('Deployed 3.13.0 3');
    expect(shown(deployed, fact('AddonUpgrading'))).toBe('Upgrading 3.13.0 3');
    expect(shown(deployed, failed, clusterReady)).toContain(`Failed 3.13.0 3 helm upgrade on demo failed: no`);
    expect(shown(deployed, fact('AddonDrifted', { problems: ['gone'], repair: false }))).toBe(
      'Failed 3.13.0 3 It was changed outside Fairlead: gone',
    );
    expect(shown(deployed, declaring(), fact('AddonUninstalling'))).toBe('Uninstalling 3.13.0 3');
    expect(shown(deployed, declaring(), fact('AddonUninstalled'))).toBe('none');
    expect(shown(declaring())).toBe('none');
  });

  it('are in a row of their cluster whatever happens to its nodes', () => {
    const row = world(...upToReady, nodeFact('NodeNotReady', 'demo-w-1', { revision: 2, reason: 'x', message: 'x' }));
    expect(row?.addons?.addons.map(({ name }) => name)).toEqual(['kilo', 'kube-proxy', 'coredns', 'nfs-storage']);
  });
});
