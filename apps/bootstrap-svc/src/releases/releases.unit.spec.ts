import type { Addon, DeclaredSpec, Fact, SecretRef, StoredEvent } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { cp, OTHER_UID, requested, UID } from '../bootstrap/bootstrap.fixtures.js';
import { releases } from './releases.decider.js';
import { releasesReconciler, type ReleaseData } from './releases.reconciler.js';
import { releasesAfter, type Releases } from './releases.state.js';

const { given } = specification(releases);
const NOW = '2026-01-01T00:00:00.000Z';
const cause = { operation: 'helm upgrade', target: 'metrics', message: 'no answer' };

const requestedVersion = (fact: Fact): string =>
  fact.type === 'ClusterRequested' ? fact.data.spec.kubernetes.version : '';

const addon = (name: string, others: Partial<Addon> = {}): Addon => ({
  name: name as Addon['name'],
  application: 'metrics' as Addon['application'],
  version: '1.0.0',
  ...others,
});
/** As in the fixtures. */
const VERSION = requestedVersion(requested(1, 1));

const declaring = (...addons: readonly Addon[]): Fact => ({
  type: 'ClusterSpecChanged',
  data: { uid: UID, spec: { version: VERSION, addons: [...addons] } as unknown as DeclaredSpec } as never,
});
const initialized: Fact = {
  type: 'ControlPlaneInitialized',
  data: {
    uid: UID,
    node: cp(1),
    endpoint: 'https://198.18.7.1:6443',
    kubeconfigRef: 'bootstrap-svc.kubeconfig.u' as SecretRef,
    caCertHash: 'c',
  },
};
const ready = { type: 'ClusterReady', data: { uid: UID } } as Fact;
const deleting: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };

/** A cluster's log, one event after the other. */
class Story {
  private events: StoredEvent[] = [];

  say(...facts: readonly Fact[]): this {
    for (const fact of facts) {
      const event = stored(fact, this.events.length + 1);
      this.events.push({ ...event, meta: { ...event.meta, id: `e${this.events.length + 1}` } } as StoredEvent);
    }
    return this;
  }
  get state(): Releases | undefined {
    return this.events.reduce<Releases | undefined>(releasesAfter, undefined);
  }
  get tasks(): readonly string[] {
    return releasesReconciler.tasks(this.state, NOW).map(({ key }) => key);
  }
  declarationOf(name: string): string {
    return this.state?.releases[name]?.declaration ?? '';
  }
  deployed(name: string, revision = 1): this {
    const of = { uid: UID, addon: name as Addon['name'], declaration: this.declarationOf(name), version: '1.0.0' };
    return this.say({ type: 'AddonDeployed', data: { ...of, revision } });
  }
}

const begun = (...addons: readonly Addon[]): Story => new Story().say(requested(1, 1), declaring(...addons));

describe('the add-ons of a cluster', () => {
  it('of class bootstrap are installed once the control plane is initialized, and others once the cluster is Ready [azimuth 19]', () => {
    const story = begun(addon('network', { class: 'bootstrap' }), addon('metrics'));
    expect(story.tasks).toEqual([]);
    expect(story.say(initialized).tasks).toEqual(['InstallRelease/network/e2']);
    expect(story.say(ready).tasks).toEqual(['InstallRelease/network/e2', 'InstallRelease/metrics/e2']);
  });

  it('wait for their dependencies, and are uninstalled before them', () => {
    const story = begun(addon('issuer', { dependsOn: ['manager' as never] }), addon('manager')).say(initialized, ready);
    expect(story.tasks).toEqual(['InstallRelease/manager/e2']);
    story.deployed('manager');
    expect(story.tasks).toEqual(['InstallRelease/issuer/e2', 'WatchRelease/manager/e2']);
    story.deployed('issuer').say(declaring());
    expect(story.tasks).toEqual(['UninstallRelease/issuer']);
    story.say({ type: 'AddonUninstalled', data: { uid: UID, addon: 'issuer' as never } });
    expect(story.tasks).toEqual(['UninstallRelease/manager']);
  });

  it('are upgraded when their own declaration changes, and not when another one does', () => {
    const story = begun(addon('one'), addon('two')).say(initialized, ready).deployed('one').deployed('two');
    story.say(declaring(addon('one'), addon('two', { values: { replicas: 2 } })));
    expect(story.tasks).toEqual(['WatchRelease/one/e2', 'InstallRelease/two/e7']);
  });

  it('with upgradeOrder `after` wait until an upgrade of Kubernetes has ended, and others do not', () => {
    const later = addon('later', { upgradeOrder: 'after' });
    const story = begun(addon('first'), later).say(initialized, ready).deployed('first').deployed('later');
    const upgradeId = 'u-1';
    const of = { uid: UID, upgradeId };
    const upgraded = (type: string, data: object = {}): Fact => ({ type, data: { ...of, ...data } }) as unknown as Fact;
    const changed = [addon('first', { version: '2.0.0' }), { ...later, version: '2.0.0' }];
    const version = (to: string): Fact =>
      ({ type: 'ClusterSpecChanged', data: { uid: UID, spec: { version: to, addons: changed } } }) as unknown as Fact;
    story.say(version('v1.35.4'));
    const installs = (): readonly string[] => story.tasks.filter((key) => key.startsWith('Install'));
    expect(installs()).toEqual([expect.stringContaining('InstallRelease/first/')]);
    story.say(
      upgraded('UpgradeRequested', { target: { kubernetes: 'v1.35.4' }, mode: 'go' }),
      upgraded('RolloutStarted'),
    );
    expect(installs()).toEqual([expect.stringContaining('InstallRelease/first/')]);
    story.say(upgraded('RolloutCompleted'));
    expect(installs()).toHaveLength(2);
  });

  it('with upgradeOrder `after` continue when the upgrade is abandoned', () => {
    const later = addon('later', { upgradeOrder: 'after' });
    const story = begun().say(initialized, ready);
    const of = { uid: UID, upgradeId: 'u-1' };
    const target = { target: { kubernetes: 'v1.35.4' }, mode: 'go' };
    story.say({
      type: 'ClusterSpecChanged',
      data: { uid: UID, spec: { version: 'v1.35.4', addons: [later] } },
    } as never);
    story.say({ type: 'UpgradeRequested', data: { ...of, ...target } } as never);
    expect(story.tasks).toEqual([]);
    story.say({ type: 'RolloutAborted', data: of } as never);
    expect(story.tasks).toEqual([expect.stringContaining('InstallRelease/later/')]);
  });

  it('that were never started leave nothing to uninstall', () => {
    expect(begun(addon('metrics')).say(initialized, declaring()).state?.releases).toEqual({});
  });

  it('are not changed in a cluster that is being deleted: they are deleted with it', () => {
    expect(begun(addon('metrics')).say(initialized, ready, deleting).tasks).toEqual([]);
  });

  it('are recorded as requested once per declaration', () => {
    const story = begun(addon('metrics'));
    const facts = releasesReconciler.facts?.(story.state, NOW) ?? [];
    const data = { uid: UID, addon: 'metrics', declaration: 'e2' };
    expect(facts).toEqual([{ type: 'AddonRequested', data }]);
    expect(releasesReconciler.facts?.(story.say(...facts).state, NOW)).toEqual([]);
  });

  it('that fail are recorded with their attempt; a failed check is not [azimuth 20]', () => {
    const attempt = { cause, attempt: 2, attemptsMax: 5, nextAttemptAt: NOW };
    const failure = { ...attempt, now: NOW };
    const data: ReleaseData = { uid: UID, addon: 'metrics' as never, declaration: 'e2' };
    const task = (type: string) => ({ type, key: type, reason: '', data });
    expect(releasesReconciler.failed?.(undefined, task('InstallRelease'), failure)).toEqual([
      { type: 'AddonFailed', data: { ...data, ...attempt } },
    ]);
    expect(releasesReconciler.failed?.(undefined, task('WatchRelease'), failure)).toEqual([]);
  });
});

describe('the facts about an add-on', () => {
  const DECLARATION = stored(declaring(addon('metrics')), 2).meta.id;
  const of = { uid: UID, addon: 'metrics' as Addon['name'], declaration: DECLARATION };
  const history = [requested(1, 1), declaring(addon('metrics')), initialized];
  const deployed: Fact<'AddonDeployed'> = { type: 'AddonDeployed', data: { ...of, version: '1.0.0', revision: 1 } };
  const drifted: Fact<'AddonDrifted'> = { type: 'AddonDrifted', data: { ...of, problems: ['gone'], repair: true } };

  it('contain its installation, then its upgrade', () => {
    const begin = { type: 'BeginRelease', data: { ...of, version: '1.0.0' } } as const;
    given(...history)
      .when(begin)
      .then({ type: 'AddonInstalling', data: begin.data });
    given(...history, deployed)
      .when(begin)
      .then({ type: 'AddonUpgrading', data: begin.data });
  });

  it('are recorded once, and not for another declaration or another cluster of the same name', () => {
    const record = { type: 'RecordRelease', data: deployed.data } as const;
    given(...history)
      .when(record)
      .then(deployed);
    given(...history, deployed)
      .when(record)
      .thenNothing();
    given(...history)
      .when({ ...record, data: { ...record.data, declaration: 'another' } })
      .thenNothing();
    given(...history)
      .when({ ...record, data: { ...record.data, uid: OTHER_UID } })
      .thenNothing();
  });

  it('contain changes made outside, once per difference, and the return to the deployed state [azimuth 27]', () => {
    const drift = { type: 'RecordDrift', data: { ...of, problems: ['gone'] } } as const;
    given(...history, deployed)
      .when(drift)
      .then(drifted);
    given(...history, deployed, drifted)
      .when(drift)
      .thenNothing();
    given(...history, deployed, drifted)
      .when({ type: 'RecordRelease', data: deployed.data })
      .then(deployed);
  });
});

describe('the add-ons of a cloud controller', () => {
  it('of a request without a manifest are installed once the control plane is initialized, the Secret first [CB-Ladybug 24]', () => {
    const request = requested(1, 1);
    if (request.type !== 'ClusterRequested') throw new Error('it is a request');
    const spec = { ...request.data.spec, cloudController: 'openstack' as const };
    const story = new Story().say({ ...request, data: { ...request.data, spec } });
    expect(story.tasks).toEqual([]);
    expect(story.say(initialized).tasks).toEqual(['InstallRelease/cloud-config/e1']);
    expect(story.deployed('cloud-config').tasks).toEqual([
      'WatchRelease/cloud-config/e1',
      'InstallRelease/cloud-controller/e1',
      'InstallRelease/cloud-storage/e1',
    ]);
  });
});
