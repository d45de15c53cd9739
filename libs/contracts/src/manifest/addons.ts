import * as z from 'zod';
import { ApplicationSettings, CHART_VERSION_LENGTH_MAX } from '../application.js';
import { CNIS } from '../cluster-spec.js';
import { ApplicationName, PoolName } from '../ids.js';
import { NFS_STORAGE_ADDON, KUBEADM_ADDONS } from '../addon.workloads.js';
import { refuse, type Refusal } from '../refusals.js';
import { fnv1a32 } from '../subjects.js';

export const ADDONS_MAX = 30;
/** One event carries the values and manifests of all add-ons of a cluster. */
export const ADDONS_LENGTH_MAX = 262_144;
const MANIFESTS_MAX = 100;

/** When an add-on is installed. */
export const ADDON_CLASSES = ['bootstrap', 'normal'] as const;

const Values = z.record(z.string(), z.json());

const VALUES_FROM_MAX = 10;

const minor = z.string().regex(/^[0-9]{1,3}\.[0-9]{1,3}$/, 'must be a minor version such as 1.35');

/** A chart that is not in the catalogue. */
const InlineChart = z
  .strictObject({
    repository: ApplicationSettings.shape.repository,
    name: ApplicationSettings.shape.chart,
    ca: ApplicationSettings.shape.ca,
    credentialsSecretName: PoolName.optional().describe(
      'An add-on secret of the namespace with username and password of the repository. Left out: it needs none',
    ),
  })
  .describe('A chart by its repository. Either this, application or manifests');

/** A Kubernetes object as written; the API server validates the rest. */
const AddonObject = z
  .looseObject({
    apiVersion: z.string().min(1).max(253),
    kind: z.string().min(1).max(63),
    metadata: z.looseObject({ name: z.string().min(1).max(253), namespace: z.string().max(63).exactOptional() }),
  })
  .describe('An object of Kubernetes');

/** A declared add-on of a cluster, beyond those that every cluster has. */
export const Addon = z
  .strictObject({
    name: PoolName.describe('A DNS label, unique in the cluster; the name of its Helm release'),
    application: ApplicationName.optional().describe(
      'An application of the catalogue. Either this, chart or manifests',
    ),
    chart: InlineChart.optional(),
    version: z
      .string()
      .min(1)
      .max(CHART_VERSION_LENGTH_MAX)
      .optional()
      .describe('The version of its chart. Required with application and chart'),
    manifests: z
      .array(AddonObject)
      .min(1)
      .max(MANIFESTS_MAX)
      .optional()
      .describe('Objects that are applied as they are. Either this, application or chart'),
    namespace: PoolName.optional().describe('Created if there is none. Left out: default'),
    values: Values.optional().describe('Values of the chart. Do not put secrets here: the history shows them'),
    valuesFrom: z
      .array(z.strictObject({ secretName: PoolName.describe('An add-on secret of the namespace') }))
      .max(VALUES_FROM_MAX)
      .optional()
      .describe('Sealed values of the chart, later ones over earlier ones, and values over all of them'),
    class: z
      .enum(ADDON_CLASSES)
      .optional()
      .describe(
        'bootstrap: installed once the control plane is initialized, without waiting for its pods; normal: once the cluster is Ready. Left out: normal',
      ),
    kubernetes: z
      .strictObject({ min: minor.optional(), max: minor.optional() })
      .optional()
      .describe('Minor versions of Kubernetes that it supports. Upgrades to others are refused. Left out: all'),
    upgradeOrder: z
      .enum(['before', 'after'])
      .optional()
      .describe(
        'When it is changed if another version of Kubernetes is declared with it. before: first, and the control plane waits for it; after: once the upgrade has ended. Left out: before',
      ),
    dependsOn: z.array(PoolName).max(ADDONS_MAX).optional().describe('Add-ons that must be deployed before it'),
    policy: z
      .enum(['repair', 'report'])
      .optional()
      .describe(
        'What happens when its release was changed or deleted outside Fairlead. repair: it is installed again; report: it is only reported. Left out: repair',
      ),
  })
  .meta({ id: 'DeclaredAddon', description: 'What is installed into the cluster by Helm' });
export type Addon = z.infer<typeof Addon>;

export const Addons = z.array(Addon).max(ADDONS_MAX);

/** Names of the add-ons that Fairlead itself installs. */
const RESERVED: ReadonlySet<string> = new Set([...CNIS, ...Object.keys(KUBEADM_ADDONS), NFS_STORAGE_ADDON]);

const nameFault = (addons: readonly Addon[], at: number, path: string): readonly Refusal[] => {
  const addon = addons[at]?.name ?? '';
  if (RESERVED.has(addon)) return [refuse('addon.name-reserved', { addon }, `${path}.name`)];
  const isTaken = addons.findIndex(({ name }) => name === addon) < at;
  return isTaken ? [refuse('addon.name-taken', { addon }, `${path}.name`)] : [];
};

const isGiven = (value: unknown): boolean => value !== undefined;

const sourceFault = (
  { name: addon, application, chart, version, manifests, values, valuesFrom }: Addon,
  path: string,
) => {
  const sources = [application, chart, manifests].filter(isGiven).length;
  const isComplete = manifests === undefined ? isGiven(version) : ![version, values, valuesFrom].some(isGiven);
  return sources === 1 && isComplete ? [] : [refuse('addon.source', { addon }, path)];
};

/** Names on which an add-on depends, transitively; includes the name itself if there is a cycle. */
const awaitedBy = (addons: readonly Addon[], name: string): ReadonlySet<string> => {
  const seen = new Set<string>();
  const open = [name];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const other of addons.find((addon) => addon.name === one)?.dependsOn ?? []) {
      if (seen.has(other)) continue;
      seen.add(other);
      open.push(other);
    }
  }
  return seen;
};

const classOf = (addon: Addon | undefined): Addon['class'] => addon?.class ?? 'normal';

const dependencyFaults = (addons: readonly Addon[], addon: Addon, path: string): readonly Refusal[] => {
  const { name, dependsOn = [] } = addon;
  const unknown = dependsOn.filter((other) => !addons.some((one) => one.name === other));
  const late = dependsOn.filter(
    (other) =>
      classOf(addon) === 'bootstrap' && classOf(addons.find((one) => one.name === other) ?? addon) === 'normal',
  );
  return [
    ...unknown.map((other) => refuse('addon.dependency-unknown', { addon: name, other }, `${path}.dependsOn`)),
    ...late.map((other) => refuse('addon.dependency-late', { addon: name, other }, `${path}.dependsOn`)),
    ...(awaitedBy(addons, name).has(name)
      ? [refuse('addon.dependency-circle', { addon: name }, `${path}.dependsOn`)]
      : []),
  ];
};

/** Whether two declarations of an add-on are equal. */
export const isSameAddon = (one: Addon, other: Addon): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Differs if the declaration of an add-on differs, without revealing its content. */
export const fingerprintOf = (addon: Addon): string => {
  const text = JSON.stringify(addon);
  return `${text.length}-${fnv1a32(text)}`;
};

/** Faults across fields that are well-formed by themselves. */
export const addonFaults = (addons: readonly Addon[], path = 'spec.addons'): readonly Refusal[] => [
  ...(JSON.stringify(addons).length > ADDONS_LENGTH_MAX
    ? [refuse('addon.too-large', { max: ADDONS_LENGTH_MAX }, path)]
    : []),
  ...addons.flatMap((addon, at) => [
    ...nameFault(addons, at, `${path}[${at}]`),
    ...sourceFault(addon, `${path}[${at}]`),
    ...dependencyFaults(addons, addon, `${path}[${at}]`),
  ]),
];
