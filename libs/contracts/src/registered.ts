import type { EventData } from './events/catalogue.js';
import type { StoredEvent } from './envelope.js';
import { NONE } from './ids.js';
import type { Quota } from './quota.js';

export type RegisteredConnection = Omit<EventData<'ConnectionRegistered'>, 'name'>;

export interface RegisteredNamespace {
  readonly quota: Quota;
  /** Which incarnation of the name it is: the sequence of its NamespaceCreated. */
  readonly since: number;
  /** Names of the secrets that requests to hooks are signed with. */
  readonly hookSecrets: readonly string[];
}

/** Namespaces, connections and quotas: what a request for a cluster refers to, and its limits. */
export interface Registered {
  readonly namespaces: ReadonlyMap<string, RegisteredNamespace>;
  readonly connections: ReadonlyMap<string, RegisteredConnection>;
}

export const NOTHING_REGISTERED: Registered = { namespaces: new Map(), connections: new Map() };

/** Matches every event that makes up `Registered`. */
export const REGISTERED_FILTER = `evt.*.*.${NONE}.request.>`;

const without = <Value>(map: ReadonlyMap<string, Value>, name: string): ReadonlyMap<string, Value> =>
  new Map([...map].filter(([key]) => key !== name));

const withNamespace = (before: Registered, name: string, namespace: RegisteredNamespace): Registered => ({
  ...before,
  namespaces: new Map(before.namespaces).set(name, namespace),
});

/** A grant ends with the namespace that got it: another of the same name is another one. */
const withoutGrants = (connections: Registered['connections'], namespace: string): Registered['connections'] =>
  new Map(
    [...connections].map(([name, { namespaces, ...others }]): [string, RegisteredConnection] => [
      name,
      namespaces === undefined ? others : { ...others, namespaces: namespaces.filter((one) => one !== namespace) },
    ]),
  );

export const registered = (before: Registered, event: StoredEvent): Registered => {
  switch (event.type) {
    case 'NamespaceCreated':
      return withNamespace(before, event.data.name, { quota: {}, since: event.meta.seq, hookSecrets: [] });
    case 'NamespaceQuotaSet': {
      const { name, quota } = event.data;
      const { since = event.meta.seq, hookSecrets = [] } = before.namespaces.get(name) ?? {};
      return withNamespace(before, name, { quota, since, hookSecrets });
    }
    case 'HookSecretSet':
    case 'HookSecretDeleted': {
      const { name, secretName } = event.data;
      const namespace = before.namespaces.get(name);
      if (namespace === undefined) return before;
      const others = namespace.hookSecrets.filter((one) => one !== secretName);
      const hookSecrets = event.type === 'HookSecretSet' ? [...others, secretName] : others;
      return withNamespace(before, name, { ...namespace, hookSecrets });
    }
    case 'NamespaceDeleted': {
      const { name } = event.data;
      return { namespaces: without(before.namespaces, name), connections: withoutGrants(before.connections, name) };
    }
    case 'ConnectionRegistered': {
      const { name, ...registration } = event.data;
      return { ...before, connections: new Map(before.connections).set(name, registration) };
    }
    case 'ConnectionRemoved':
      return { ...before, connections: without(before.connections, event.data.name) };
    default:
      return before;
  }
};

/** Stands for every namespace in the grant of a connection. */
export const SHARED_WITH_ALL = '*';

/** Whether clusters of a namespace may stand on a connection. One that was registered before there were grants is shared. */
export const mayUse = ({ namespaces }: Pick<RegisteredConnection, 'namespaces'>, namespace: string): boolean =>
  namespaces === undefined || namespaces.includes(SHARED_WITH_ALL) || namespaces.includes(namespace);
