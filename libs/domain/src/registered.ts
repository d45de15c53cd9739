import {
  type EventData,
  type StoredEvent,
  NONE,
  SHARED_WITH_ALL,
  type SecretRef,
  type Quota,
  type RealmSettings,
} from '@fairlead/contracts';

export type RegisteredConnection = Omit<EventData<'ConnectionRegistered'>, 'name'>;

/** An identity realm of a namespace. */
export interface RegisteredRealm extends RealmSettings {
  readonly secretRef: SecretRef;
  /** The event that last registered it. */
  readonly registration: string;
  /** Sequence of its first registration. */
  readonly since: number;
}

export interface RegisteredNamespace {
  readonly quota: Quota;
  /** The incarnation of the name: the sequence of its NamespaceCreated. */
  readonly since: number;
  /** Names of the secrets that sign requests to hooks. */
  readonly hookSecrets: readonly string[];
  /** Names of the sealed add-on values. */
  readonly addonSecrets: readonly string[];
  /** Identity realms, in the order of their first registration. */
  readonly realms: ReadonlyMap<string, RegisteredRealm>;
}

/** Namespaces, connections and quotas: the references and limits of a request for a cluster. */
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

/** A grant ends with its namespace: a later namespace of the same name is a different one. */
const withoutGrants = (connections: Registered['connections'], namespace: string): Registered['connections'] =>
  new Map(
    [...connections].map(([name, { namespaces, ...others }]): [string, RegisteredConnection] => [
      name,
      namespaces === undefined ? others : { ...others, namespaces: namespaces.filter((one) => one !== namespace) },
    ]),
  );

const NEW: Omit<RegisteredNamespace, 'since'> = { quota: {}, hookSecrets: [], addonSecrets: [], realms: new Map() };

/** Registering a realm again does not change its position. */
export const realmsAfter = (
  realms: RegisteredNamespace['realms'],
  event: StoredEvent<'RealmRegistered' | 'RealmRemoved'>,
): RegisteredNamespace['realms'] => {
  const { realm } = event.data;
  if (event.type === 'RealmRemoved') return without(realms, realm);
  const { name: _namespace, realm: _realm, ...settings } = event.data;
  const { id: registration, seq } = event.meta;
  const since = realms.get(realm)?.since ?? seq;
  return new Map(realms).set(realm, { ...settings, registration, since });
};

export const registered = (before: Registered, event: StoredEvent): Registered => {
  switch (event.type) {
    case 'NamespaceCreated':
      return withNamespace(before, event.data.name, { ...NEW, since: event.meta.seq });
    case 'NamespaceQuotaSet': {
      const { name, quota } = event.data;
      const namespace = before.namespaces.get(name) ?? { ...NEW, since: event.meta.seq };
      return withNamespace(before, name, { ...namespace, quota });
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
    case 'AddonSecretSet':
    case 'AddonSecretDeleted': {
      const { name, secretName } = event.data;
      const namespace = before.namespaces.get(name);
      if (namespace === undefined) return before;
      const others = namespace.addonSecrets.filter((one) => one !== secretName);
      const secrets = event.type === 'AddonSecretSet' ? [...others, secretName] : others;
      return withNamespace(before, name, { ...namespace, addonSecrets: secrets });
    }
    case 'RealmRegistered':
    case 'RealmRemoved': {
      const namespace = before.namespaces.get(event.data.name);
      if (namespace === undefined) return before;
      return withNamespace(before, event.data.name, { ...namespace, realms: realmsAfter(namespace.realms, event) });
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

/** Whether clusters of a namespace may use a connection. One that was registered before grants existed is shared. */
export const mayUse = ({ namespaces }: Pick<RegisteredConnection, 'namespaces'>, namespace: string): boolean =>
  namespaces === undefined || namespaces.includes(SHARED_WITH_ALL) || namespaces.includes(namespace);
