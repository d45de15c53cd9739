import type { CloudController, ClusterSpec } from '../cluster-spec.js';
import { CLOUD_CHARTS, type CloudChart } from '../cloud.charts.js';
import { traitsOf } from '../connection-settings.js';
import type { ApplicationName, ConnectionName, PoolName } from '../ids.js';
import { refuse, type Refusal } from '../refusals.js';
import type { Addon } from './addons.js';
import type { DeclaredSpec } from './declared.js';

/** The add-ons of a cluster with a cloud controller; no other add-on of it has these names. */
export const CLOUD_ADDONS = {
  config: 'cloud-config',
  controller: 'cloud-controller',
  storage: 'cloud-storage',
} as const;

/** Where the charts of the cloud providers expect their objects. */
export const CLOUD_NAMESPACE = 'kube-system';

/** Name of the Secret with the connection's credential. */
export const CLOUD_CONFIG_SECRET = 'cloud-config';

/** The cloud that an add-on belongs to. Its values follow from the connection, and are in no event. */
export interface CloudOf {
  readonly provider: CloudController;
  readonly connection: ConnectionName;
}

/** An add-on of the manifest, or one that the manifest's cloud controller needs. */
export type InstalledAddon = Addon & { readonly cloud?: CloudOf };

type Declares = Pick<DeclaredSpec, 'addons' | 'cloudController'> & {
  readonly controlPlane: Pick<DeclaredSpec['controlPlane'], 'connection'>;
};

/** Installed before the cluster is Ready: nodes accept no other pods until the controller has initialized them. */
const OF_CLOUD = { class: 'bootstrap', namespace: CLOUD_NAMESPACE as PoolName } as const;

const chartAddon = (name: string, { application, version }: CloudChart): Addon => ({
  name: name as PoolName,
  application: application as ApplicationName,
  version,
  ...OF_CLOUD,
  dependsOn: [CLOUD_ADDONS.config as PoolName],
});

const cloudAddonsOf = ({ cloudController: provider, controlPlane }: Declares): readonly InstalledAddon[] => {
  if (provider === undefined) return [];
  const { controller, storage }: { readonly controller: CloudChart; readonly storage?: CloudChart } =
    CLOUD_CHARTS[provider];
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: CLOUD_CONFIG_SECRET } };
  const addons: readonly Addon[] = [
    { name: CLOUD_ADDONS.config as PoolName, manifests: [secret], ...OF_CLOUD },
    chartAddon(CLOUD_ADDONS.controller, controller),
    ...(storage === undefined ? [] : [chartAddon(CLOUD_ADDONS.storage, storage)]),
  ];
  return addons.map((addon) => ({ ...addon, cloud: { provider, connection: controlPlane.connection } }));
};

/** The add-ons of a cluster beyond those that every cluster has. */
export const installedAddons = (spec: Declares): readonly InstalledAddon[] => [
  ...cloudAddonsOf(spec),
  ...(spec.addons ?? []),
];

/** Faults of a manifest with a cloud controller that are known without its connection. */
export const cloudFaults = ({
  cloudController,
  serviceType,
  addons = [],
}: Pick<DeclaredSpec, 'cloudController' | 'addons'> & { readonly serviceType: string }): readonly Refusal[] => {
  if (cloudController === undefined) return [];
  const names: readonly string[] = Object.values(CLOUD_ADDONS);
  return [
    ...(serviceType === 'single' ? [] : [refuse('cluster.cloud-controller-multi', {}, 'spec.cloudController')]),
    ...addons.flatMap(({ name: addon }, at) =>
      names.includes(addon) ? [refuse('addon.name-reserved', { addon }, `spec.addons[${at}].name`)] : [],
    ),
  ];
};

interface ConnectionOf {
  readonly name: string;
  readonly provider: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Whose cloud controller clusters of a connection may run; undefined: none. */
export const cloudControllerOf = ({ provider, settings }: Omit<ConnectionOf, 'name'>): CloudController | undefined =>
  settings['cloudController'] === true ? traitsOf(provider).cloudController : undefined;

/** Why a cluster of this connection cannot have the cloud controller; undefined: it can, or has none. */
export const cloudControllerFault = (
  declared: CloudController | undefined,
  connection: ConnectionOf,
  field: string,
): Refusal | undefined => {
  if (declared === undefined) return undefined;
  const { name, provider } = connection;
  if (traitsOf(provider).cloudController !== declared)
    return refuse('cluster.cloud-controller-provider', { connection: name, provider, cloud: declared }, field);
  return cloudControllerOf(connection) === undefined
    ? refuse('cluster.cloud-controller-closed', { connection: name }, field)
    : undefined;
};

type Tiers = Pick<ClusterSpec, 'cloudController' | 'controlPlane' | 'workers'>;

const isRole = (role: string | undefined): boolean => role !== undefined && role !== '';

/** Whether any machines are to act by a role: without one, the controller has the key of the connection. */
export const hasRoles = ({ controlPlane, workers }: Tiers): boolean =>
  [controlPlane, ...workers].some(({ role }) => isRole(role));

/** In CB-Ladybug, the cloud controller of AWS needs one role for all control planes, and one for all workers. */
export const rolesFault = ({ cloudController, controlPlane, workers }: Tiers): Refusal | undefined => {
  if (cloudController !== 'aws') return undefined;
  if (!isRole(controlPlane.role)) return refuse('cluster.role-missing', {}, 'controlPlane[0].role');
  const at = workers.findIndex(({ role }) => !isRole(role) || role !== workers[0]?.role);
  return at === -1 ? undefined : refuse('cluster.role-missing', {}, `worker[${at}].role`);
};
