import type { ChangedObject, ClusterView, DeclaredSpec, FieldChange, NodeView } from '@fairlead/contracts';
import { declaredFields } from '@fairlead/domain';

/** The values of one object, by their paths. */
type Fields = ReadonlyMap<string, string>;

/** What is compared of a cluster: its objects by `kind/name`. */
export type Facts = ReadonlyMap<string, Fields>;

/** The cluster at a moment. */
export interface ClusterThen {
  readonly view: ClusterView;
  /** Undefined: nothing was declared of it yet. */
  readonly spec: DeclaredSpec | undefined;
}

/** Left out is what differs without a change that anyone acts on: times, progress, and texts that repeat other fields. */
export const factsOf = (then: ClusterThen | undefined): Facts => {
  if (then === undefined) return new Map();
  const { view, spec } = then;
  return new Map<string, Fields>([
    [keyOf('Cluster', view.name), clusterFields(view)],
    ...(spec === undefined ? [] : [[keyOf('Spec', view.name), declaredFields(spec)] as const]),
    ...view.conditions.map(({ type, status, reason }) => object('Condition', type, { status, reason })),
    ...view.nodes.map((node) => [keyOf('Node', node.name), nodeFields(node)] as const),
    ...(view.virtualAddresses ?? []).map(({ name, address, holder }) =>
      object('VirtualAddress', name, { address, holder }),
    ),
  ]);
};

const keyOf = (kind: ChangedObject['kind'], name: string): string => `${kind}/${name}`;

const object = (kind: ChangedObject['kind'], name: string, values: Values): readonly [string, Fields] => [
  keyOf(kind, name),
  fieldsOf(values),
];

type Values = Readonly<Record<string, string | readonly string[] | null | undefined>>;

/** An empty value is as one that is not there. */
const fieldsOf = (values: Values): Fields =>
  new Map(
    Object.entries(values).flatMap(([field, value]) => {
      const text = typeof value === 'string' ? value : (value ?? []).join(', ');
      return text === '' ? [] : [[field, text] as const];
    }),
  );

const clusterFields = ({ uid, status, k8sVersion: version, endpoint, lease }: ClusterView): Fields => {
  const { phase, state, reasons, message } = status;
  return fieldsOf({ uid, phase, state, reasons, message, version, endpoint, leaseEndsAt: lease?.endsAt });
};

const nodeFields = (node: NodeView): Fields => {
  const { role, pool, spec, connection, phase, reason, updatesDisabled, remediation, publicIp, privateIp } = node;
  const software = Object.entries(node.software).map(([name, version]) => [`software.${name}`, version] as const);
  return fieldsOf({
    ...{ role, pool, spec, connection, publicIp, privateIp, phase, reason },
    ...Object.fromEntries(software),
    ...{ cordon: node.cordon?.reason, updatesDisabled, remediation, network: node.network?.state },
  });
};

/** A field that differs, before it is known which event changed it. */
export type Difference = Omit<FieldChange, 'event'> & { readonly object: string };

/** In the order of the objects and fields of the later moment, then those that are gone. */
export const differencesOf = (before: Facts, after: Facts): readonly Difference[] =>
  keysOf(after, before).flatMap((of) => {
    const [old, now] = [before.get(of) ?? NOTHING, after.get(of) ?? NOTHING];
    return keysOf(now, old)
      .filter((field) => old.get(field) !== now.get(field))
      .map((field) => ({ object: of, field, before: old.get(field) ?? null, after: now.get(field) ?? null }));
  });

const NOTHING: Fields = new Map();

const keysOf = (first: ReadonlyMap<string, unknown>, second: ReadonlyMap<string, unknown>): readonly string[] => [
  ...new Set([...first.keys(), ...second.keys()]),
];

/** Whether the field has the value that it has in the end. */
export const hasSettled = (facts: Facts, { object: of, field, after }: Difference): boolean =>
  (facts.get(of)?.get(field) ?? null) === after;

/** A difference, and the event after which it was there. */
export type Traced = Difference & Pick<FieldChange, 'event'>;

/** The differences by the objects that have them; an object that only one of the moments has was added or removed. */
export const changedObjects = (
  traced: readonly Traced[],
  [before, after]: readonly [Facts, Facts],
): ChangedObject[] => {
  const fields = new Map<string, FieldChange[]>();
  for (const { object: of, ...change } of traced) fields.set(of, [...(fields.get(of) ?? []), change]);
  return [...fields].map(([of, changes]) => ({
    ...partsOf(of),
    change: !before.has(of) ? 'added' : !after.has(of) ? 'removed' : 'changed',
    fields: changes,
  }));
};

const partsOf = (key: string): Pick<ChangedObject, 'kind' | 'name'> => {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) as ChangedObject['kind'], name: key.slice(slash + 1) };
};
