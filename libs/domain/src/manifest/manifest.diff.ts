import {
  completeControlPlane,
  completePool,
  MANIFEST_CHANGES_MAX,
  MANIFEST_VALUE_LENGTH_MAX,
  type DeclaredPool,
  type DeclaredSpec,
  type EventData,
  taintKey,
  type Labels,
  type Authentication,
  type Addon,
  type Hook,
  type Transport,
  type VirtualAddress,
} from '@fairlead/contracts';

/** A changed field; null: absent. */
export interface ChangedField {
  /** `network.podCidr`, `pools[web].replicas`. */
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

type Leaf = readonly [field: string, value: string];
type Fields = ReadonlyMap<string, string>;

/** An empty list or object equals an absent one: where it would not, the schema rejects it. */
const leavesOf = (value: unknown, field: string): readonly Leaf[] => {
  if (typeof value !== 'object' || value === null) return [[field, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, field === '' ? key : `${field}.${key}`));
};

/** Zones are identified by name. */
const machinesLeaves = ({ zones, ...others }: { readonly zones: readonly string[] }, of: string): readonly Leaf[] => [
  ...leavesOf(others, of),
  ...(zones.length === 0 ? [] : [[`${of}.zones`, zones.join(', ')] as const]),
];

/** Taints are identified by key and effect. */
const poolLeaves = (pool: DeclaredPool): readonly Leaf[] => {
  const { name, taints, ...others } = completePool(pool);
  return [
    ...machinesLeaves(others, `pools[${name}]`),
    ...taints.map((taint): Leaf => [`pools[${name}].taints[${taintKey(taint)}]`, taint.value ?? '']),
  ];
};

const transportLeaves = ({ name, backends, allow, ...others }: Transport, of: string): readonly Leaf[] => {
  const field = `${of}.transports[${name}]`;
  const sets: readonly Leaf[] = [
    [`${field}.backends`, backends.toSorted().join(', ')],
    [`${field}.allow`, allow.toSorted().join(', ')],
  ];
  return [...leavesOf(others, field), ...sets];
};

/** Addresses and transports are identified by name; pools and networks are sets. */
const addressLeaves = ({ name, holders, transports, ...others }: VirtualAddress): readonly Leaf[] => {
  const field = `virtualAddresses[${name}]`;
  return [
    ...leavesOf(others, field),
    [`${field}.holders`, holders.toSorted().join(', ')],
    ...transports.flatMap((transport) => transportLeaves(transport, field)),
  ];
};

/** Roles are identified by name; scopes and groups are sets. */
const authenticationLeaves = ({ oidc }: Authentication): readonly Leaf[] => {
  if (oidc === undefined) return [];
  const { scopes = [], roleBindings = [], ...others } = oidc;
  const of = 'authentication.oidc';
  return [
    ...leavesOf(others, of),
    ...(scopes.length === 0 ? [] : [[`${of}.scopes`, scopes.toSorted().join(', ')] as const]),
    ...roleBindings.map(({ clusterRole, groups }): Leaf => [
      `${of}.roleBindings[${clusterRole}]`,
      groups.toSorted().join(', '),
    ]),
  ];
};

/** Hooks are identified by name and called in order; points are a set. */
const hookLeaves = (hooks: readonly Hook[]): readonly Leaf[] => [
  ...(hooks.length < 2 ? [] : [['hooks', hooks.map(({ name }) => name).join(', ')] as const]),
  ...hooks.flatMap(({ name, points, ...others }): readonly Leaf[] => [
    [`hooks[${name}].points`, points.toSorted().join(', ')],
    ...leavesOf(others, `hooks[${name}]`),
  ]),
];

/** Add-ons are identified by name, and their dependencies are a set. Manifests are identified by index. */
const addonLeaves = ({ name, dependsOn = [], ...others }: Addon): readonly Leaf[] => [
  ...leavesOf(others, `addons[${name}]`),
  ...(dependsOn.length === 0 ? [] : [[`addons[${name}].dependsOn`, dependsOn.toSorted().join(', ')] as const]),
];

/** The values of a spec by path. Pools are identified by name: their order has no meaning. */
export const declaredFields = (spec: DeclaredSpec | undefined): Fields => {
  if (spec === undefined) return new Map();
  const { controlPlane, pools, virtualAddresses = [], authentication = {}, hooks = [], addons = [], ...others } = spec;
  return new Map([
    ...leavesOf(others, ''),
    ...authenticationLeaves(authentication),
    ...hookLeaves(hooks),
    ...addons.flatMap(addonLeaves),
    ...machinesLeaves(completeControlPlane(controlPlane), 'controlPlane'),
    ...pools.flatMap(poolLeaves),
    ...virtualAddresses.flatMap(addressLeaves),
  ]);
};

const changed = (old: Fields, now: Fields): readonly ChangedField[] =>
  [...new Set([...now.keys(), ...old.keys()])].flatMap((field) => {
    const [was, is] = [old.get(field) ?? null, now.get(field) ?? null];
    return was === is ? [] : [{ field, before: was, after: is }];
  });

/** Differences between two specs, in the order of their fields. */
export const changedFields = (before: DeclaredSpec | undefined, after: DeclaredSpec): readonly ChangedField[] =>
  changed(declaredFields(before), declaredFields(after));

/** Differences between the labels of two manifests. */
export const changedLabels = (before: Labels | undefined, after: Labels | undefined): readonly ChangedField[] => {
  const [old, now] = [before, after].map((labels = {}) => new Map(leavesOf(labels, 'metadata.labels')));
  return changed(old!, now!);
};

/** Differences between any two values, leaf by leaf; list items are compared by index. */
export const changedLeaves = (before: unknown, after: unknown): readonly ChangedField[] => {
  const [old, now] = [before ?? {}, after].map((value) => new Map(leavesOf(value, '')));
  return changed(old!, now!);
};

type Summary = Pick<EventData<'ClusterSpecChanged'>, 'changes' | 'changesLeftOut'>;

const shortened = (value: string | null): string | null =>
  value === null || value.length <= MANIFEST_VALUE_LENGTH_MAX
    ? value
    : `${value.slice(0, MANIFEST_VALUE_LENGTH_MAX - 1)}…`;

/** What an event says about a change of a manifest: some fields, with values that fit a line. */
export const summaryOfChanges = (changes: readonly ChangedField[]): Summary => {
  if (changes.length === 0) return {};
  const named = changes.slice(0, MANIFEST_CHANGES_MAX);
  const leftOut = changes.length - named.length;
  return {
    changes: named.map(({ field, before, after }) => ({ field, before: shortened(before), after: shortened(after) })),
    ...(leftOut === 0 ? {} : { changesLeftOut: leftOut }),
  };
};
