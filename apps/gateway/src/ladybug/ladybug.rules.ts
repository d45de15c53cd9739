import { ClusterRequest, NodesRequest, ReadQuery, refuse, SpecsQuery, type Refusal } from '@fairlead/contracts';
import type { z } from 'zod';
import { sentenceOf } from './ladybug.sentences.js';

/** Deeper than any request is; what lies below is left to the schema. */
const DEPTH_MAX = 32;

const isEmpty = (value: unknown): boolean => value === null || value === '';

/** CB-Ladybug's clients send every field that they know: empty text and null mean what leaving it out means. */
export const withoutEmpty = (value: unknown, depth = 0): unknown => {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(item, depth + 1));
  const given = Object.entries(value).filter(([, inner]) => !isEmpty(inner));
  return Object.fromEntries(given.map(([name, inner]) => [name, withoutEmpty(inner, depth + 1)]));
};

const objectAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, part) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, part) : undefined),
    value,
  );

/** The value without the fields that its schema does not know. */
export const withoutUnknown = (value: unknown, schema: z.ZodType): unknown => {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const known = structuredClone(value);
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const holder = objectAt(known, issue.path);
    if (typeof holder !== 'object' || holder === null) continue;
    for (const key of issue.keys) Reflect.deleteProperty(holder, key);
  }
  return known;
};

export interface LadybugRoute {
  /** What CB-Ladybug fills in where we would fill in something else. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
}

const CLUSTERS = 'ns/[^/]+/clusters';

/** CB-Ladybug's own routes, and what each is sent. */
const ROUTES: readonly (readonly [pattern: RegExp, route: LadybugRoute])[] = [
  [
    new RegExp(`^POST ${CLUSTERS}$`),
    { body: ClusterRequest, defaults: { serviceType: 'multi', onFailure: 'cleanup' } },
  ],
  [new RegExp(`^POST ${CLUSTERS}/[^/]+/nodes$`), { body: NodesRequest }],
  [new RegExp(`^GET ${CLUSTERS}(/[^/]+(/nodes(/[^/]+)?)?)?$`), { query: ReadQuery }],
  [/^GET mcir\/connections\/[^/]+\/specs$/, { query: SpecsQuery }],
];

/** The route of CB-Ladybug that a request is for; `path` is without its base. */
export const ladybugRouteOf = (method: string, path: string): LadybugRoute =>
  ROUTES.find(([pattern]) => pattern.test(`${method} ${path}`))?.[1] ?? {};

/** What a refused request was about. */
export interface Place {
  readonly method: string;
  readonly namespace: string;
  readonly cluster: string;
  /** undefined: the path names none. */
  readonly node?: string;
  /** The request adds nodes to the cluster. */
  readonly addsNodes: boolean;
}

/** The refusal in CB-Ladybug's words, where it has some. */
export const inItsWords = (refusal: Refusal, place: Place): Refusal => ({
  ...refusal,
  message: messageOf(refusal, place),
});

const messageOf = ({ code, message }: Refusal, place: Place): string => {
  const { method, namespace, cluster, node } = place;
  const names = { namespace, cluster, ...(node === undefined ? {} : { node }) };
  const sentence = sentenceOf(code, message, { method, of: node === undefined ? 'cluster' : 'node', names });
  switch (code) {
    // For CB-Ladybug, the name of a cluster that is being deleted is taken.
    case 'cluster.deleting':
      return messageOf(refuse('cluster.name-taken', { namespace, cluster }), place);
    case 'cluster.single-connection':
      return place.addsNodes ? sentence.replace(/^All nodes/u, 'The new node') : sentence;
    default:
      return sentence;
  }
};
