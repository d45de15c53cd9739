import {
  installedAddons,
  KUBEADM_ADDONS,
  releaseOf,
  NFS_STORAGE_ADDON as STORAGE,
  sentenceOf,
  type Addon,
  type AddonPhase,
  type AddonView,
  type ClusterSpec,
  type StoredEvent,
} from '@fairlead/contracts';
import { attemptWords } from '@fairlead/domain';

/** The addons of a cluster, in the order in which they are installed. */
export interface AddonsDoc {
  readonly addons: readonly AddonView[];
  /** Operations of the latest plans that bring addons to a new version: `<upgrade>/<operation>`. */
  readonly upgrading: readonly string[];
  /** Those of the manifest, and those that still have to go; absent: none. */
  readonly releases?: readonly AddonView[];
}

const OF_KUBEADM: readonly string[] = Object.keys(KUBEADM_ADDONS);

/** Gates of upgrades that look at an addon. */
const ADDON_OF_GATE: Readonly<Record<string, string>> = { 'kube-proxy': 'kube-proxy', dns: 'coredns' };

const hasStorage = ({ kubernetes }: ClusterSpec): boolean => {
  const { server = '', path = '' } = kubernetes.storageclass?.nfs ?? {};
  return server !== '' && path !== '';
};

/** What a cluster that is requested is to have. */
export const addonsOf = (spec: ClusterSpec, since: string): AddonsDoc => {
  const names = [spec.kubernetes.networkCni, ...OF_KUBEADM, ...(hasStorage(spec) ? [STORAGE] : [])];
  const releases = declaredReleases([], installedAddons(spec), since);
  return {
    addons: names.map((name) => ({ name, phase: 'Pending', version: '', revision: 0, since, message: '' })),
    upgrading: [],
    ...(releases.length === 0 ? {} : { releases }),
  };
};

interface Change {
  readonly phase: AddonPhase;
  readonly since: string;
  readonly message?: string;
  /** Of an addon that was installed or upgraded. */
  readonly version?: string;
}

const changed = (addon: AddonView, { phase, since, message = '', version }: Change): AddonView => {
  const isNew = version !== undefined && version !== addon.version;
  return {
    ...addon,
    phase,
    message,
    since: phase === addon.phase && !isNew ? addon.since : since,
    ...(isNew ? { version, revision: addon.revision + 1 } : {}),
  };
};

type Concerns = (addon: AddonView) => boolean;

const every: Concerns = () => true;
const named =
  (...names: readonly string[]): Concerns =>
  ({ name }) =>
    names.includes(name);
const isOfKubeadm: Concerns = ({ name }) => OF_KUBEADM.includes(name);
const isNetwork: Concerns = ({ name }) => !OF_KUBEADM.includes(name) && name !== STORAGE;
/** An upgrade goes on when it serves. */
const isAwaited: Concerns = ({ phase, message }) => phase === 'Upgrading' && message !== '';
const isIn =
  (...phases: readonly AddonPhase[]): Concerns =>
  ({ phase }) =>
    phases.includes(phase);

const withChange = (doc: AddonsDoc, concerns: Concerns, change: Change): AddonsDoc => {
  const addons = doc.addons.map((addon) => (concerns(addon) ? changed(addon, change) : addon));
  return addons.every((addon, at) => sameAddon(addon, doc.addons[at])) ? doc : { ...doc, addons };
};

const sameAddon = (one: AddonView, other: AddonView | undefined): boolean =>
  other !== undefined &&
  one.phase === other.phase &&
  one.version === other.version &&
  one.message === other.message &&
  one.since === other.since;

const attemptOf = (failed: StoredEvent<'BootstrapStepFailed' | 'OperationFailed' | 'AddonFailed'>['data']): string =>
  `${sentenceOf(failed.cause)} (${attemptWords(failed)})`;

/** Before a cluster is Ready, what is not served is named in the words of the step. Nodes that come later may fail by themselves. */
const stepFailed = (doc: AddonsDoc, { data, meta }: StoredEvent<'BootstrapStepFailed'>): AddonsDoc => {
  const failed = { phase: 'Failed', since: meta.time, message: attemptOf(data) } as const;
  const isInstalling = isIn('Installing', 'Failed');
  switch (data.step) {
    case 'InstallNetwork':
      return withChange(doc, isNetwork, failed);
    case 'ReapplyDeclared':
      return withChange(doc, isOfKubeadm, failed);
    case 'InstallStorage':
      return withChange(doc, named(STORAGE), failed);
    case 'InstallAddons':
      return withChange(doc, (addon) => isInstalling(addon) && data.cause.message.includes(addon.name), failed);
    default:
      return doc;
  }
};

/** More than an upgrade over all minor versions has. */
const OPERATIONS_MAX = 20;

const operationOf = ({ data }: StoredEvent<'OperationStarted' | 'OperationFailed'>): string =>
  `${data.upgradeId}/${data.operation}`;

/** kubeadm upgrades its addons with the last control plane; an operation of the plan sees that they serve. */
const upgraded = (doc: AddonsDoc, event: StoredEvent): AddonsDoc => {
  const since = event.meta.time;
  switch (event.type) {
    case 'UpgradePlanned': {
      const { upgradeId, plan } = event.data;
      const ofAddons = plan.operations.flatMap(({ kind, id }) => (kind === 'addons' ? [`${upgradeId}/${id}`] : []));
      return { ...doc, upgrading: [...new Set([...doc.upgrading, ...ofAddons])].slice(-OPERATIONS_MAX) };
    }
    case 'OperationStarted':
      return doc.upgrading.includes(operationOf(event))
        ? withChange(doc, isOfKubeadm, { phase: 'Upgrading', since })
        : doc;
    case 'OperationFailed': {
      const failed = { phase: 'Failed', since, message: attemptOf(event.data) } as const;
      return withChange(doc, doc.upgrading.includes(operationOf(event)) ? isOfKubeadm : isAwaited, failed);
    }
    case 'AddonsUpgraded':
      return Object.entries(event.data.addons).reduce(
        (before, [name, version]) => withChange(before, named(name), { phase: 'Deployed', since, version }),
        doc,
      );
    case 'RolloutAborted':
    case 'RolloutCompleted':
      return withChange(doc, isIn('Upgrading'), { phase: 'Deployed', since });
    // It is waited for: whether it has failed, the operation says.
    case 'GateFailed':
      return withChange(doc, named(ADDON_OF_GATE[event.data.gate] ?? ''), {
        ...{ phase: 'Upgrading', since },
        message: event.data.message,
      });
    case 'GatePassed': {
      const isLookedAt = named(ADDON_OF_GATE[event.data.gate] ?? '');
      const wasNot = isIn('Failed', 'Upgrading');
      return withChange(doc, (addon) => isLookedAt(addon) && wasNot(addon), { phase: 'Deployed', since });
    }
    default:
      return doc;
  }
};

/** Until they are applied again, they are those of the snapshot. */
const FORMER = 'etcd was restored, and it may have the version of the snapshot';

const restored = (doc: AddonsDoc, event: StoredEvent): AddonsDoc => {
  const since = event.meta.time;
  switch (event.type) {
    case 'EtcdRestoreAdvanced':
      return event.data.step === 'verify'
        ? withChange(doc, isOfKubeadm, { phase: 'Upgrading', since, message: FORMER })
        : doc;
    case 'DeclaredStateReapplied': {
      const { kubernetesVersion, coreDns: coredns = releaseOf(kubernetesVersion)?.coredns } = event.data;
      const proxied = withChange(doc, named('kube-proxy'), { phase: 'Deployed', since, version: kubernetesVersion });
      return withChange(proxied, named('coredns'), {
        ...{ phase: 'Deployed', since },
        ...(coredns === undefined ? {} : { version: coredns }),
      });
    }
    default:
      return doc;
  }
};

/** Nothing of it is in the cluster, unless it was there before. */
const NOT_BEGUN: ReadonlySet<AddonPhase> = new Set(['Pending', 'Preparing']);

/** Add-ons of the manifest: each is a release of Helm, which counts its revisions. */
const declaredReleases = (
  before: readonly AddonView[],
  addons: readonly Addon[],
  since: string,
): readonly AddonView[] => {
  const isDeclared = (name: string): boolean => addons.some((addon) => addon.name === name);
  const mayBeThere = ({ phase, revision }: AddonView): boolean => revision > 0 || !NOT_BEGUN.has(phase);
  const leaving = before.filter((addon) => !isDeclared(addon.name) && mayBeThere(addon));
  const fresh = { phase: 'Pending', version: '', revision: 0, since, message: '' } as const;
  return [
    ...addons.map(({ name }) => before.find((one) => one.name === name) ?? { name, ...fresh }),
    ...leaving.map((one) => ({ ...one, phase: 'Uninstalling' as const, since, message: '' })),
  ];
};

type ReleaseChange = Pick<AddonView, 'phase'> & Partial<AddonView>;

const changeOfRelease = (event: StoredEvent): ReleaseChange | undefined => {
  switch (event.type) {
    case 'AddonRequested':
      return { phase: 'Pending' };
    case 'AddonPreparing':
      return { phase: 'Preparing' };
    case 'AddonInstalling':
      return { phase: 'Installing' };
    case 'AddonUpgrading':
      return { phase: 'Upgrading' };
    case 'AddonDeployed':
      return { phase: 'Deployed', version: event.data.version, revision: event.data.revision };
    case 'AddonFailed':
      return { phase: 'Failed', message: attemptOf(event.data) };
    case 'AddonDrifted': {
      const { problems, repair } = event.data;
      const message = `It was changed outside Fairlead: ${problems.join('; ')}`;
      return { phase: repair ? 'Upgrading' : 'Failed', message };
    }
    case 'AddonUninstalling':
      return { phase: 'Uninstalling' };
    default:
      return undefined;
  }
};

const releasesAfter = (before: readonly AddonView[], event: StoredEvent): readonly AddonView[] => {
  const since = event.meta.time;
  if (event.type === 'ClusterSpecChanged') return declaredReleases(before, installedAddons(event.data.spec), since);
  if (event.type === 'AddonUninstalled') return before.filter(({ name }) => name !== event.data.addon);
  if (event.type === 'ClusterDeletionRequested')
    return before.map((one) => ({ ...one, phase: 'Uninstalling', since, message: '' }));
  const change = changeOfRelease(event);
  if (change === undefined || !('addon' in event.data)) return before;
  const { addon } = event.data;
  return before.map((one) =>
    one.name === addon
      ? { ...one, message: '', since: one.phase === change.phase ? one.since : since, ...change }
      : one,
  );
};

/** Those that every cluster has, then those of its manifest. */
export const allAddons = ({ addons, releases = [] }: Pick<AddonsDoc, 'addons' | 'releases'>): readonly AddonView[] => [
  ...addons,
  ...releases,
];

/** What an event means for the addons of its cluster. */
export const addonsAfter = (doc: AddonsDoc, event: StoredEvent): AddonsDoc => {
  const { releases: before = [] } = doc;
  const releases = releasesAfter(before, event);
  const after = commonAfter(doc, event);
  return releases === before || (releases.length === 0 && before.length === 0)
    ? withReleases(after, before)
    : { ...after, releases };
};

/** A creation that is corrected begins with new addons, and the same manifest. */
const withReleases = (doc: AddonsDoc, releases: readonly AddonView[]): AddonsDoc =>
  doc.releases === releases || releases.length === 0 ? doc : { ...doc, releases };

const commonAfter = (doc: AddonsDoc, event: StoredEvent): AddonsDoc => {
  const since = event.meta.time;
  switch (event.type) {
    case 'ClusterRetryRequested': {
      const { correction } = event.data;
      return correction === undefined ? doc : addonsOf(correction.spec, since);
    }
    case 'ClusterAccepted':
      return withChange(doc, isIn('Pending'), { phase: 'Preparing', since });
    case 'ControlPlaneInitialized':
      return withChange(doc, (addon) => isNetwork(addon) || isOfKubeadm(addon), { phase: 'Installing', since });
    case 'NetworkReady':
      return withChange(doc, isNetwork, { phase: 'Deployed', since, version: event.data.version });
    case 'AddonInstalled':
      return withChange(doc, named(event.data.addon), { phase: 'Deployed', since, version: event.data.version });
    case 'ClusterReady': {
      const served = withChange(doc, (addon) => addon.revision > 0 && isIn('Failed')(addon), {
        ...{ phase: 'Deployed', since },
      });
      return withChange(served, isIn('Preparing'), { phase: 'Installing', since });
    }
    case 'BootstrapStepFailed':
      return stepFailed(doc, event);
    case 'AddonDegraded': {
      const { addon, message } = event.data;
      return withChange(doc, named(addon), { phase: 'Failed', since, message });
    }
    case 'AddonRecovered':
      return withChange(doc, (one) => one.name === event.data.addon && isIn('Failed')(one), {
        phase: 'Deployed',
        since,
      });
    case 'ClusterDeletionRequested':
      return withChange(doc, every, { phase: 'Uninstalling', since });
    default:
      return restored(upgraded(doc, event), event);
  }
};

const CHANGING: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ControlPlaneInitialized',
  'AddonInstalled',
  'AddonDegraded',
  'AddonRecovered',
  'AddonRequested',
  'AddonPreparing',
  'AddonInstalling',
  'AddonUpgrading',
  'AddonDeployed',
  'AddonFailed',
  'AddonDrifted',
  'AddonUninstalling',
  'AddonUninstalled',
  'AddonsUpgraded',
  'DeclaredStateReapplied',
  'EtcdRestoreAdvanced',
  'UpgradePlanned',
  'OperationStarted',
  'OperationFailed',
]);

/** Events that change addons and nothing else of a cluster. */
export const isAboutAddons = (event: StoredEvent): boolean =>
  CHANGING.has(event.type) ||
  ((event.type === 'GateFailed' || event.type === 'GatePassed') && ADDON_OF_GATE[event.data.gate] !== undefined);
