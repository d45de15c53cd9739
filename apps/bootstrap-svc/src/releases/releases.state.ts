import {
  installedAddons,
  isSameAddon,
  type ClusterUid,
  type InstalledAddon,
  type StoredEvent,
} from '@fairlead/contracts';
import { kubernetesAfter, type KubernetesOf } from './kubernetes.evolve.js';

/** The last deployment of a release in the cluster. */
export interface Deployed {
  readonly declaration: string;
  readonly version: string;
  readonly revision: number;
  /** The events that set its sealed values; absent: it has none. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** A declared add-on, or one whose release must still be removed. */
export interface Release {
  /** As last declared. */
  readonly addon: InstalledAddon;
  /** It is in the current manifest. */
  readonly isDeclared: boolean;
  /** The event that declared it. */
  readonly declaration: string;
  readonly isRequested: boolean;
  /** Its content is being downloaded, for this declaration. */
  readonly isPreparing: boolean;
  /** Parts of it may be in the cluster. */
  readonly isBegun: boolean;
  /** null: never. */
  readonly deployed: Deployed | null;
  /** Unrepaired changes made outside Fairlead; empty: none. */
  readonly drift: readonly string[];
}

/** The add-ons of one cluster. */
export interface Releases {
  readonly uid: ClusterUid;
  /** The API as recorded when the cluster was initialized; null: it is not initialized yet. */
  readonly api: { readonly server: string; readonly caCertHash: string } | null;
  readonly hasBeenReady: boolean;
  readonly isDeleting: boolean;
  /** Absent: the cluster was requested with an earlier release. */
  readonly kubernetes?: KubernetesOf;
  /** By name, in the declared order. */
  readonly releases: Readonly<Record<string, Release>>;
}

const declared = (
  state: Releases,
  { data, meta }: StoredEvent<'ClusterRequested' | 'ClusterSpecChanged'>,
): Pick<Releases, 'releases'> => {
  const addons = installedAddons(data.spec);
  const kept = Object.entries(state.releases).flatMap(([name, release]): readonly (readonly [string, Release])[] =>
    addons.some((addon) => addon.name === name) || !release.isBegun ? [] : [[name, { ...release, isDeclared: false }]],
  );
  const now = addons.map((addon): readonly [string, Release] => {
    const before = state.releases[addon.name];
    if (before !== undefined && before.isDeclared && isSameAddon(before.addon, addon)) return [addon.name, before];
    const begun = before ?? { isBegun: false, deployed: null };
    const { isBegun, deployed } = begun;
    const fresh = { addon, isDeclared: true, declaration: meta.id, isRequested: false, isPreparing: false, drift: [] };
    return [addon.name, { ...fresh, isBegun, deployed }];
  });
  return { releases: Object.fromEntries([...now, ...kept]) };
};

const changed = (state: Releases, name: string, change: Partial<Release>): Releases => {
  const release = state.releases[name];
  return release === undefined
    ? state
    : { ...state, releases: { ...state.releases, [name]: { ...release, ...change } } };
};

const ofRelease = (state: Releases, event: StoredEvent): Releases => {
  switch (event.type) {
    case 'AddonRequested':
      return changed(state, event.data.addon, { isRequested: true });
    case 'AddonPreparing':
      return changed(state, event.data.addon, { isPreparing: true });
    case 'AddonInstalling':
    case 'AddonUpgrading':
      return changed(state, event.data.addon, { isBegun: true });
    case 'AddonDeployed': {
      const { addon, declaration, version, revision, secrets } = event.data;
      const deployed = { declaration, version, revision, ...(secrets === undefined ? {} : { secrets }) };
      return changed(state, addon, { isBegun: true, drift: [], deployed });
    }
    case 'AddonDrifted':
      return changed(state, event.data.addon, { drift: event.data.problems });
    case 'AddonUninstalled': {
      const { [event.data.addon]: gone, ...others } = state.releases;
      // Declared again meanwhile: it starts as a new one.
      return gone?.isDeclared === true
        ? changed(state, event.data.addon, { isBegun: false, deployed: null })
        : { ...state, releases: others };
    }
    default:
      return state;
  }
};

const withKubernetes = (state: Releases | undefined, event: StoredEvent): Releases | undefined => {
  if (state?.kubernetes === undefined) return state;
  const kubernetes = kubernetesAfter(state.kubernetes, event);
  return kubernetes === state.kubernetes ? state : { ...state, kubernetes };
};

/** A request without a manifest has the add-ons of its cloud controller. */
const begun = (event: StoredEvent<'ClusterRequested'>): Releases => {
  const { uid, spec } = event.data;
  const { version } = spec.kubernetes;
  const kubernetes = { running: version, declared: version, targets: {} };
  const fresh = { uid, api: null, hasBeenReady: false, isDeleting: false, kubernetes, releases: {} };
  return { ...fresh, ...declared(fresh, event) };
};

export const releasesAfter = (before: Releases | undefined, event: StoredEvent): Releases | undefined => {
  if (event.type === 'ClusterRequested') return begun(event);
  const state = withKubernetes(before, event);
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeleted':
      return undefined;
    case 'ClusterDeletionRequested':
      return { ...state, isDeleting: true };
    case 'ControlPlaneInitialized': {
      const { endpoint: server, caCertHash } = event.data;
      return { ...state, api: { server, caCertHash } };
    }
    case 'ClusterReady':
      return { ...state, hasBeenReady: true };
    case 'ClusterSpecChanged':
      return { ...state, ...declared(state, event) };
    default:
      return ofRelease(state, event);
  }
};
