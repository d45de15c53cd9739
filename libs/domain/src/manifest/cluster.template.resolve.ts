import type { z } from 'zod';
import {
  refuse,
  type Refusal,
  completeOidc,
  type Authentication,
  withV,
  TemplateCluster,
  type DeclaredSpec,
  healthCheckOf,
} from '@fairlead/contracts';

type Json = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, z.ZodType>>;

const { network, controlPlane, pools, ...WHOLE } = TemplateCluster.shape;

/** Sections that are resolved field by field; all others are resolved as a whole. */
const SECTIONS: Readonly<Record<'network' | 'controlPlane' | 'pools', Fields>> = {
  network: network.unwrap().shape,
  controlPlane: controlPlane.unwrap().shape,
  pools: pools.unwrap().shape,
};

/** Normalizations besides defaults, from the written to the declared form. */
const COMPLETE: Readonly<Record<string, (value: never) => unknown>> = {
  version: withV,
  health: healthCheckOf,
  zones: (zones: readonly string[]) => [...new Set(zones)].toSorted(),
  authentication: ({ oidc }: Authentication) => (oidc === undefined ? {} : { oidc: completeOidc(oidc) }),
};

/** The declared form of a value; undefined: omitted or invalid. */
const declaredAs = (name: string, schema: z.ZodType | undefined, value: unknown): unknown => {
  const parsed = value === undefined ? undefined : schema?.safeParse(value);
  if (parsed?.success !== true || parsed.data === undefined) return undefined;
  const complete = COMPLETE[name];
  return complete === undefined ? parsed.data : complete(parsed.data as never);
};

const mapFields = (of: Json, fields: Fields): Json =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, declaredAs(name, fields[name], value)]));

/** The template with normalized values, so that equal values are equal as JSON. */
export const completeTemplate = ({ network, controlPlane, pools, ...whole }: TemplateCluster): TemplateCluster =>
  ({
    ...mapFields(whole, WHOLE),
    ...(network === undefined ? {} : { network: mapFields(network, SECTIONS.network) }),
    ...(controlPlane === undefined ? {} : { controlPlane: mapFields(controlPlane, SECTIONS.controlPlane) }),
    ...(pools === undefined ? {} : { pools: mapFields(pools, SECTIONS.pools) }),
  }) as TemplateCluster;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const SHOWN_MAX = 100;
const shown = (value: unknown): string => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
};

/** One part of a manifest, with the values of the template and of the current cluster. */
interface Part {
  readonly path: string;
  readonly fields: Fields;
  readonly given: Json;
  readonly fixed: Json;
  readonly current: Json | undefined;
}

interface Resolved<Of> {
  readonly value: Of;
  readonly faults: readonly Refusal[];
}

interface Rule {
  readonly template: string;
  /** The cluster already uses this template: values declared since through other routes are kept. */
  readonly isKept: boolean;
}

/**
 * The template's value applies, and a different one is refused. The current value is accepted, so that a manifest can
 * be sent back.
 */
const resolvePart = ({ path, fields, given, fixed, current }: Part, { template, isKept }: Rule): Resolved<Json> => {
  const outcomes = Object.entries(fixed).map(([name, value]) => {
    const own = given[name];
    const [is, was] = [own, current?.[name]].map((one) => JSON.stringify(declaredAs(name, fields[name], one)));
    // Malformed values are kept, so that the manifest's schema reports them.
    if (own !== undefined && is === undefined) return { name, value: own, faults: [] };
    if (is === undefined || is === JSON.stringify(value)) return { name, value, faults: [] };
    if (is === was) return { name, value: isKept ? own : value, faults: [] };
    const field = `${path}${name}`;
    const words = { template, field, value: shown(value), given: shown(own) };
    return { name, value, faults: [refuse('template.field-fixed', words, field)] };
  });
  const values = Object.fromEntries(outcomes.map(({ name, value }) => [name, value]));
  return { value: { ...given, ...values }, faults: outcomes.flatMap(({ faults }) => faults) };
};

const resolvePools = (
  given: unknown,
  { fixed, current, rule }: { readonly fixed: Json; readonly current: DeclaredSpec | undefined; readonly rule: Rule },
): Resolved<unknown> => {
  if (!Array.isArray(given)) return { value: given, faults: [] };
  const resolved = given.map((pool: unknown, at): Resolved<unknown> => {
    if (!isObject(pool)) return { value: pool, faults: [] };
    const was = current?.pools.find(({ name }) => name === pool['name']);
    const part = { path: `spec.pools[${at}].`, fields: SECTIONS.pools, given: pool, fixed, current: was };
    return resolvePart(part, rule);
  });
  return { value: resolved.map(({ value }) => value), faults: resolved.flatMap(({ faults }) => faults) };
};

/** A template, and the cluster that is declared with it. */
export interface TemplateBasis {
  readonly name: string;
  readonly cluster: TemplateCluster;
  /** undefined: the cluster does not exist yet. */
  readonly current: DeclaredSpec | undefined;
  readonly isKept: boolean;
}

/** A manifest's spec with the values of its template merged in. */
export const resolveTemplate = (given: Json, { name, cluster, current, isKept }: TemplateBasis): Resolved<Json> => {
  const rule = { template: name, isKept };
  const { network = {}, controlPlane = {}, pools = {}, ...whole } = cluster;
  const spec = resolvePart({ path: 'spec.', fields: WHOLE, given, fixed: whole, current }, rule);
  const section = (of: 'network' | 'controlPlane', fixed: Json): Resolved<unknown> => {
    const own = given[of] ?? {};
    if (!isObject(own)) return { value: own, faults: [] };
    return resolvePart({ path: `spec.${of}.`, fields: SECTIONS[of], given: own, fixed, current: current?.[of] }, rule);
  };
  const [networks, controlPlanes] = [section('network', network), section('controlPlane', controlPlane)];
  const ofPools = resolvePools(given['pools'], { fixed: pools, current, rule });
  return {
    value: {
      ...spec.value,
      network: networks.value,
      controlPlane: controlPlanes.value,
      ...(ofPools.value === undefined ? {} : { pools: ofPools.value }),
    },
    faults: [spec, networks, controlPlanes, ofPools].flatMap(({ faults }) => faults),
  };
};
