import { ACCESS_REFUSALS } from './refusals/access.refusals.js';
import { API_REFUSALS } from './refusals/api.refusals.js';
import { APPLICATION_REFUSALS } from './refusals/application.refusals.js';
import { CLUSTER_REFUSALS } from './refusals/cluster.refusals.js';
import { CONNECTION_REFUSALS } from './refusals/connection.refusals.js';
import { JOIN_REFUSALS } from './refusals/join.refusals.js';
import { NETWORK_REFUSALS } from './refusals/network.refusals.js';
import { NODE_REFUSALS } from './refusals/node.refusals.js';
import { POOL_REFUSALS } from './refusals/pool.refusals.js';
import { REALM_REFUSALS } from './refusals/realm.refusals.js';
import { RELEASE_REFUSALS } from './refusals/release.refusals.js';
import { TEMPLATE_REFUSALS } from './refusals/template.refusals.js';
import { UPGRADE_REFUSALS } from './refusals/upgrade.refusals.js';
import type { RefusalDefinition } from './refusals/refusal.definition.js';

export type { RefusalDefinition };

/** Every refusal code of the API, by topic. */
export const REFUSALS = {
  ...API_REFUSALS,
  ...ACCESS_REFUSALS,
  ...CONNECTION_REFUSALS,
  ...REALM_REFUSALS,
  ...APPLICATION_REFUSALS,
  ...RELEASE_REFUSALS,
  ...CLUSTER_REFUSALS,
  ...POOL_REFUSALS,
  ...TEMPLATE_REFUSALS,
  ...NODE_REFUSALS,
  ...JOIN_REFUSALS,
  ...NETWORK_REFUSALS,
  ...UPGRADE_REFUSALS,
} as const satisfies Record<string, RefusalDefinition>;

export type RefusalCode = keyof typeof REFUSALS;

/** A refusal as data. `field` is the path of the fault in the request, e.g. `config.kubernetes.podCidr`. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly code: RefusalCode;
  readonly message: string;
  readonly field?: string;
  /** What the caller can do. */
  readonly help?: string;
}

const fill = (sentence: string, values: Readonly<Record<string, string | number>>): string =>
  sentence.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

/** Builds a refusal from the catalogue's sentence. */
export const refuse = (
  code: RefusalCode,
  values: Readonly<Record<string, string | number>> = {},
  field?: string,
): Refusal => {
  const { sentence, help } = REFUSALS[code];
  const refusal = { kind: 'refusal', code, message: fill(sentence, values), help: fill(help, values) } as const;
  return field === undefined ? refusal : { ...refusal, field };
};

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal';
