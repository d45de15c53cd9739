import type { V1Affinity, V1PodSpec, V1PodTemplateSpec, V1Toleration } from '@kubernetes/client-node';
import type { TemplateView } from '../cluster.ports.js';
import { textOf, type Plain } from '../plain.object.js';

/** Limits beyond which a part is not plausible in an accepted object. */
const TEXTS_MAX = 200;
const ARG_LENGTH_MAX = 4 * 1_024;

const listed = (texts: readonly string[]): readonly string[] => texts.slice(0, TEXTS_MAX);

const names = (named: readonly { readonly name: string }[] = []): readonly string[] =>
  named.slice(0, TEXTS_MAX).map(({ name }) => textOf(name));

const pairs = (prefix: string, amounts: Readonly<Record<string, string>> | undefined): readonly string[] =>
  Object.entries(amounts ?? {}).map(([name, amount]) => `${prefix}${name}=${textOf(amount)}`);

/** `dedicated=infra:NoSchedule`, `CriticalAddonsOnly`; `every taint` for the one without a key. */
const toleration = ({ key, operator, value, effect }: Plain<V1Toleration>): string => {
  const name = textOf(key) === '' ? 'every taint' : textOf(key);
  const equal = operator === 'Exists' || textOf(value) === '' ? '' : `=${textOf(value)}`;
  return `toleration ${name}${equal}${textOf(effect) === '' ? '' : `:${textOf(effect)}`}`;
};

const placementOf = ({ affinity, topologySpreadConstraints }: Plain<V1PodSpec>): readonly string[] => [
  ...(['nodeAffinity', 'podAffinity', 'podAntiAffinity'] as const satisfies readonly (keyof V1Affinity)[]).filter(
    (kind) => affinity?.[kind] !== undefined,
  ),
  ...(topologySpreadConstraints ?? []).map(({ topologyKey }) => `spread over ${textOf(topologyKey)}`),
];

const NONE: Plain<V1PodSpec> = { containers: [] };

/** Never throws: malformed parts are omitted. */
export const templateView = (template: Plain<V1PodTemplateSpec> | undefined): TemplateView => {
  const spec = template?.spec ?? NONE;
  const [first, ...others] = spec.containers;
  return {
    image: textOf(first?.image),
    args: listed([...(first?.command ?? []), ...(first?.args ?? [])]).map((word) => textOf(word, ARG_LENGTH_MAX)),
    environment: names(first?.env),
    resources: listed([
      ...pairs('requests.', first?.resources?.requests),
      ...pairs('limits.', first?.resources?.limits),
    ]),
    containers: [...names(spec.initContainers), ...names(others)],
    volumes: listed(
      (spec.volumes ?? []).flatMap(({ name, configMap }) => [
        textOf(name),
        ...(configMap?.items ?? []).map(({ key }) => `${textOf(name)}/${textOf(key)}`),
      ]),
    ),
    nodeSelector: listed(pairs('nodeSelector ', spec.nodeSelector)),
    tolerations: listed((spec.tolerations ?? []).map(toleration)),
    placement: listed(placementOf(spec)),
  };
};
