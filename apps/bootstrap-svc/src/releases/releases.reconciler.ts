import type { ClusterUid, PoolName } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { releases, type ReleasesCommand, type ReleasesFact } from './releases.decider.js';
import { isBeingUpgraded } from './kubernetes.evolve.js';
import type { Release, Releases } from './releases.state.js';

/** Data of every task: the add-on, and the event that declared it. */
export interface ReleaseData {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly addon: PoolName;
  readonly declaration: string;
}

const isAsDeclared = ({ declaration, deployed }: Release): boolean => deployed?.declaration === declaration;

/** The condition that the installation waits for; undefined: none. */
const waitsFor = ({ hasBeenReady, kubernetes, releases: all }: Releases, { addon }: Release): string | undefined => {
  if (addon.class !== 'bootstrap' && !hasBeenReady) return 'the cluster to be Ready';
  if (addon.upgradeOrder === 'after' && kubernetes !== undefined && isBeingUpgraded(kubernetes))
    return 'the upgrade of Kubernetes';
  return addon.dependsOn?.find((other) => {
    const release = all[other];
    return release === undefined || !isAsDeclared(release);
  });
};

/** Dependent add-ons are uninstalled first. */
const isNeeded = ({ releases: all }: Releases, name: string): boolean =>
  Object.values(all).some(({ addon, isBegun }) => isBegun && addon.dependsOn?.includes(name as PoolName) === true);

const taskOf = (state: Releases, release: Release): readonly Task[] => {
  const { addon, declaration, isDeclared } = release;
  const { name } = addon;
  const data: ReleaseData = { uid: state.uid, addon: name, declaration };
  if (!isDeclared) {
    if (isNeeded(state, name)) return [];
    return [{ type: 'UninstallRelease', key: `UninstallRelease/${name}`, reason: 'it is no longer declared', data }];
  }
  const key = `${name}/${declaration}`;
  if (isAsDeclared(release))
    return [{ type: 'WatchRelease', key: `WatchRelease/${key}`, reason: 'it is deployed as declared', data }];
  if (waitsFor(state, release) !== undefined) return [];
  return [{ type: 'InstallRelease', key: `InstallRelease/${key}`, reason: 'it is declared so', data }];
};

const acts = (state: Releases | undefined): state is Releases & { readonly api: object } =>
  state !== undefined && state.api !== null && !state.isDeleting;

/** Deploys declared add-ons as releases. They are deleted with their cluster, without being uninstalled. */
export const releasesReconciler: Reconciler<Releases | undefined, ReleasesCommand, ReleasesFact> = {
  name: 'releases',
  version: 1,
  context: 'addons',
  decider: releases,
  generation: (state) => state?.uid ?? '',
  tasks: (state) => (acts(state) ? Object.values(state.releases).flatMap((release) => taskOf(state, release)) : []),

  facts: (state) =>
    state === undefined || state.isDeleting
      ? []
      : Object.values(state.releases)
          .filter(({ isDeclared, isRequested }) => isDeclared && !isRequested)
          .map(({ addon: { name: addon }, declaration }) => ({
            type: 'AddonRequested',
            data: { uid: state.uid, addon, declaration },
          })),

  /** A failed check does not change the recorded state. */
  failed: (_state, { type, data }, { cause, attempt, attemptsMax, nextAttemptAt }) => {
    if (type === 'WatchRelease') return [];
    const { uid, addon, declaration } = data as ReleaseData;
    return [{ type: 'AddonFailed', data: { uid, addon, declaration, cause, attempt, attemptsMax, nextAttemptAt } }];
  },
};
