import {
  isProvider,
  PROVIDERS,
  refuse,
  settingFaults,
  settingRefusal,
  type Refusal,
  type SpecsQuery,
} from '@fairlead/contracts';
import type { SpecFilter } from './connections.projection.js';

/**
 * Names under which people give secrets: the refusal says where secrets belong. That no other name lets one in is not known from
 * here: settings that a provider does not have are refused.
 */
const SECRET_NAME =
  /(password|passwd|passphrase|pwd|secret|token|bearer|authorization|private_?key|access_?key|api_?key|credential)|^auth$/i;
const REFERENCE_NAME = /(ref|id|name|user|path|file)$/i;

const fieldsIn = (value: unknown, path: string): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap((item, index) => fieldsIn(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const field = `${path}.${key}`;
    const suspect = SECRET_NAME.test(key) && !REFERENCE_NAME.test(key) && typeof inner === 'string';
    return suspect ? [field] : fieldsIn(inner, field);
  });
};

/** Paths of settings that look like secrets. A reference to one is none. */
export const suspectSettings = (settings: Readonly<Record<string, unknown>>): readonly string[] =>
  fieldsIn(settings, 'settings');

/** What is wrong with the provider or its settings, each with its place. Settings are stated in events, so nothing unknown gets in. */
export const settingRefusals = (
  connection: string,
  provider: string,
  settings: Readonly<Record<string, unknown>>,
): readonly Refusal[] => {
  if (!isProvider(provider))
    return [refuse('connection.provider-unknown', { provider, supported: PROVIDERS.join(', ') }, 'provider')];
  return settingFaults(provider, settings).map((fault) => settingRefusal(connection, fault));
};

/** A control plane needs 2 CPUs and any node 2 GiB (CB-Ladybug's rule, and kubeadm's own minimum). */
const CONTROL_PLANE_CPU_MIN = 2;
const CONTROL_PLANE_MEMORY_MIN_GIB = 2;

const NUMBERS = ['cpu-min', 'cpu-max', 'memory-min', 'memory-max'] as const;

const notNumbers = (query: SpecsQuery): readonly Refusal[] =>
  NUMBERS.flatMap((name) => {
    const value = query[name];
    const isNumber = value === undefined || (value.trim() !== '' && Number.isFinite(Number(value)));
    return isNumber ? [] : [refuse('spec-list.number', { name, value }, name)];
  });

const range = (name: 'cpu' | 'memory', min: number, max: number): readonly Refusal[] =>
  max < min ? [refuse('spec-list.range', { name, min, max }, `${name}-max`)] : [];

/** The filter that CB-Ladybug's query stands for, or everything that is wrong with it. */
export const toSpecFilter = (query: SpecsQuery): SpecFilter | readonly Refusal[] => {
  const wrong = notNumbers(query);
  if (wrong.length > 0) return wrong;
  const forControlPlane = query['control-plane'] === 'Y';
  const filter = {
    cpuMin: Math.max(Number(query['cpu-min'] ?? 0), forControlPlane ? CONTROL_PLANE_CPU_MIN : 0),
    cpuMax: Number(query['cpu-max'] ?? Number.POSITIVE_INFINITY),
    memoryMin: Math.max(Number(query['memory-min'] ?? 0), forControlPlane ? CONTROL_PLANE_MEMORY_MIN_GIB : 0),
    memoryMax: Number(query['memory-max'] ?? Number.POSITIVE_INFINITY),
  };
  const ranges = [
    ...range('cpu', filter.cpuMin, filter.cpuMax),
    ...range('memory', filter.memoryMin, filter.memoryMax),
  ];
  return ranges.length > 0 ? ranges : filter;
};
