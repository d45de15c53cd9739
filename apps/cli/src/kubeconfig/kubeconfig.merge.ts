import { parseYaml } from '@fairlead/parsers';
import { stringify } from 'yaml';
import { usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';

interface NamedEntry {
  readonly name: string;
}
interface Kubeconfig {
  readonly clusters: readonly NamedEntry[];
  readonly contexts: readonly (NamedEntry & { readonly context: Readonly<Record<string, unknown>> })[];
  readonly users: readonly NamedEntry[];
  readonly [field: string]: unknown;
}

/**
 * Merges the kubeconfig `added` into `existing`: its cluster, user and context get the name `name`, and the context
 * becomes the current one. Existing entries with that name are replaced, all others are kept.
 */
export const mergeKubeconfig = (existing: string, added: string, name: string): string => {
  const base = parsed(existing, 'The kubeconfig to merge into');
  const [cluster, user] = [parsed(added, 'The kubeconfig of the cluster')].flatMap(({ clusters, users }) => [
    clusters[0],
    users[0],
  ]);
  if (cluster === undefined || user === undefined)
    throw usageFailure('The kubeconfig of the cluster has no cluster or no user');
  return stringify({
    ...base,
    clusters: replaced(base.clusters, { ...cluster, name }),
    users: replaced(base.users, { ...user, name }),
    contexts: replaced(base.contexts, { name, context: { cluster: name, user: name } }),
    'current-context': name,
  });
};

const replaced = <Entry extends NamedEntry>(entries: readonly Entry[], entry: Entry): readonly Entry[] => [
  ...entries.filter(({ name }) => name !== entry.name),
  entry,
];

const parsed = (text: string, what: string): Kubeconfig => {
  try {
    const value = (parseYaml(text, FILE_LIMITS) ?? {}) as Partial<Kubeconfig>;
    return {
      apiVersion: 'v1',
      kind: 'Config',
      ...value,
      clusters: value.clusters ?? [],
      contexts: value.contexts ?? [],
      users: value.users ?? [],
    };
  } catch (error) {
    throw usageFailure(`${what} is not YAML: ${wordsOf(error)}`);
  }
};
