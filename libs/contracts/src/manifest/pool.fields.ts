import * as z from 'zod';
import { POOL_NODES_MAX } from '../cluster.limits.js';
import { LabelKey, Labels, LabelValue } from '../labels.js';
import { refuse, type Refusal } from '../refusals.js';

/** Maximum taints per pool. */
const TAINTS_MAX = 32;
const ZONES_MAX = 32;
/** Maximum time (one day) for which a node must be Ready before it counts as available. */
const MIN_READY_SECONDS_MAX = 86_400;

export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
export const Taint = z.strictObject({ key: LabelKey, value: LabelValue.optional(), effect: z.enum(TAINT_EFFECTS) });
export type Taint = z.infer<typeof Taint>;

export const DELETE_POLICIES = ['Newest', 'Oldest'] as const;

/** Fields of a pool that manifests of earlier releases lack. */
export const poolFields = {
  minReadySeconds: z.int().min(0).max(MIN_READY_SECONDS_MAX),
  deletePolicy: z.enum(DELETE_POLICIES),
  zones: z.array(z.string().min(1).max(63)).max(ZONES_MAX),
  labels: Labels,
  taints: z.array(Taint).max(TAINTS_MAX),
  updatesDisabled: z.boolean(),
};

/** Labels and taints of a pool's nodes. */
export const NodeMetadata = z.strictObject({ labels: Labels, taints: z.array(Taint).max(TAINTS_MAX) });
export type NodeMetadata = z.infer<typeof NodeMetadata>;

/** A node has at most one taint per key and effect. */
export const taintKey = ({ key, effect }: Pick<Taint, 'key' | 'effect'>): string => `${key}:${effect}`;

const byTaintKey = (one: Taint, other: Taint): number => (taintKey(one) < taintKey(other) ? -1 : 1);

/** Sorted, so that equal metadata are equal as JSON. */
export const nodeMetadata = ({
  labels = {},
  taints = [],
}: {
  readonly labels?: Labels | undefined;
  readonly taints?: readonly Taint[] | undefined;
}): NodeMetadata => ({
  labels: Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))),
  taints: taints.toSorted(byTaintKey).map(({ key, value = '', effect }) => ({ key, value, effect })),
});

/** The pool of a node, as a label of its Node object and of its machine at the provider. */
export const POOL_LABEL = 'fairlead.dev/pool';

/** Prefixes that users may set on nodes although they belong to reserved domains of Kubernetes. */
const OPEN_PREFIXES = ['node-role.kubernetes.io', 'node-restriction.kubernetes.io'];
const RESERVED_DOMAINS = ['kubernetes.io', 'k8s.io', 'fairlead.dev', 'topology.cloud-barista.github.io'];

/** The reserved domain of a key; undefined: not reserved. */
const reservedDomainOf = (key: string): string | undefined => {
  const [prefix, name] = key.split('/');
  if (name === undefined || prefix === undefined || OPEN_PREFIXES.includes(prefix)) return undefined;
  return RESERVED_DOMAINS.find((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
};

/** Labels that a kubelet may not set itself (NodeRestriction admission) are set by the administrator after the join. */
export const isKubeletLabel = (key: string): boolean => !OPEN_PREFIXES.some((prefix) => key.startsWith(`${prefix}/`));

interface PoolMetadata {
  readonly name: string;
  readonly labels?: Labels | undefined;
  readonly taints?: readonly Taint[] | undefined;
}

/** Faults of the labels and taints of a pool. */
export const metadataFaults = (
  { name: pool, labels = {}, taints = [] }: PoolMetadata,
  path: string,
): readonly Refusal[] => {
  const reserved = (key: string, field: string): readonly Refusal[] => {
    const domain = reservedDomainOf(key);
    return domain === undefined ? [] : [refuse('pool.key-reserved', { pool, key, domain }, field)];
  };
  return [
    ...Object.keys(labels).flatMap((key) => reserved(key, `${path}.labels`)),
    ...taints.flatMap((taint, at) => [
      ...reserved(taint.key, `${path}.taints[${at}].key`),
      ...(taints.findIndex((one) => taintKey(one) === taintKey(taint)) < at
        ? [refuse('pool.taint-twice', { pool, taint: taintKey(taint) }, `${path}.taints[${at}]`)]
        : []),
    ]),
  ];
};

/** Which numbers are possible depends on the etcd and on what there is already: a rule refuses the others by code. */
export const controlPlaneReplicas = z
  .int()
  .min(0)
  .max(POOL_NODES_MAX)
  .describe('1, 3 or 5; with an external etcd, 3, 5 or 7');
