import {
  inventoryOf,
  refuse,
  SHARED_WITH_ALL,
  withQuotaChange,
  type ConnectionName,
  type Fact,
  type NodeName,
  type PowerAction,
  type Quota,
  type QuotaChange,
  type Refusal,
  type SecretRef,
} from '@fairlead/contracts';
import { sshAddress } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';
import { keyRefsOf, orphaning, type Users } from './registration.rules.js';

export interface ConnectionSettings {
  readonly provider: string;
  readonly region: string;
  readonly zone: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Whose clusters may use it, and how much they may take; undefined: as it is. */
interface Grant {
  readonly namespaces?: string[] | undefined;
  readonly quota?: Quota | undefined;
}

/**
 * `sealed`: where the secret that came with the request was put; undefined when none came, and the one there is stays.
 */
export type RegisterConnection = Command<
  'RegisterConnection',
  ConnectionSettings &
    Grant & {
      readonly name: ConnectionName;
      readonly sealed: SecretRef | undefined;
      readonly users: Users;
      readonly since: NamespacesSince;
      readonly moved: boolean;
    }
>;
/** Its settings and its secret stay. */
export type ChangeConnection = Command<
  'ChangeConnection',
  {
    readonly name: ConnectionName;
    readonly namespaces: string[] | undefined;
    readonly quota: QuotaChange | undefined;
    readonly since: NamespacesSince;
  }
>;
/** `usedBy`: the clusters that stand on the connection. */
export type RemoveConnection = Command<
  'RemoveConnection',
  { readonly name: ConnectionName; readonly usedBy: readonly string[] }
>;
/** Recorded before the credential is shown. */
export type ReadCredential = Command<'ReadCredential', { readonly name: ConnectionName }>;
export type VerifyConnection = Command<'VerifyConnection', { readonly name: ConnectionName }>;

/** `host` null: the jump host. */
export type AcceptHostKey = Command<
  'AcceptHostKey',
  { readonly name: ConnectionName; readonly host: NodeName | null; readonly hostKey: string }
>;
/** `isOrphan`: the rows list it as one. */
export type RequestOrphanRemoval = Command<
  'RequestOrphanRemoval',
  { readonly name: ConnectionName; readonly id: string; readonly isOrphan: boolean }
>;
export type RequestHostPower = Command<
  'RequestHostPower',
  { readonly name: ConnectionName; readonly host: NodeName; readonly action: PowerAction }
>;
/** `usedBy`: the cluster that has the host now. */
export type AcceptHost = Command<
  'AcceptHost',
  { readonly name: ConnectionName; readonly host: NodeName; readonly usedBy: string | undefined }
>;

interface Registered extends ConnectionSettings, Grant {
  readonly secretRef: SecretRef | null;
  /** Sequence of the event that registered it last. */
  readonly seq: number;
}

/** The namespaces that there are, each with the sequence of its creation. */
export type NamespacesSince = ReadonlyMap<string, number>;

/** A new connection is granted to the default namespace only; sharing it is explicit. */
const FIRST_GRANT = ['default'];

/** A grant ends with its namespace: it is not one of a namespace that was created again under the same name. */
const grantsOf = ({ namespaces, seq }: Registered, since: NamespacesSince): string[] | undefined =>
  namespaces?.filter((one) => one === SHARED_WITH_ALL || (since.get(one) ?? Infinity) < seq);

const grantOf = (before: Registered | undefined, { namespaces, quota }: Grant, since: NamespacesSince): Grant => {
  const kept = before === undefined ? FIRST_GRANT : grantsOf(before, since);
  const granted = namespaces === undefined ? kept : [...new Set(namespaces)].sort();
  const bounded = quota ?? before?.quota;
  return {
    ...(granted === undefined ? {} : { namespaces: granted }),
    ...(bounded === undefined ? {} : { quota: bounded }),
  };
};

export type ConnectionsState = ReadonlyMap<string, Registered>;

type ConnectionFact = Fact<
  | 'ConnectionRegistered'
  | 'ConnectionVerificationRequested'
  | 'ConnectionRemoved'
  | 'ConnectionCredentialRead'
  | 'HostKeyAccepted'
  | 'HostAccepted'
  | 'HostPowerRequested'
  | 'OrphanVmRemovalRequested'
>;

/** A host of the inventory, or the jump host (null); undefined: the connection has no such. */
const serverOf = (registered: Registered, host: NodeName | null) => {
  const inventory = inventoryOf(registered);
  return host === null ? inventory?.jump : inventory?.hosts.find(({ name }) => name === host);
};

const acceptHostKey = (state: ConnectionsState, { data }: AcceptHostKey): readonly ConnectionFact[] | Refusal => {
  const { name, host, hostKey } = data;
  const registered = state.get(name);
  if (registered === undefined) return refuse('connection.not-found', { connection: name });
  const server = serverOf(registered, host);
  const called = host === null ? 'jump host' : `host ${host}`;
  if (server === undefined) return refuse('connection.host-unknown', { connection: name, host: called });
  if (server.hostKey !== undefined)
    return refuse('connection.host-key-in-settings', { connection: name, host: called });
  return [{ type: 'HostKeyAccepted', data: { name, host, address: sshAddress(server), hostKey } }];
};

const readCredential = (state: ConnectionsState, { data: { name } }: ReadCredential) => {
  const registered = state.get(name);
  if (registered === undefined) return refuse('connection.not-found', { connection: name });
  if (registered.secretRef === null && keyRefsOf(registered).length === 0)
    return refuse('connection.no-credential', { connection: name });
  return [{ type: 'ConnectionCredentialRead', data: { name } } satisfies ConnectionFact];
};

const acceptHost = (state: ConnectionsState, { data }: AcceptHost): readonly ConnectionFact[] | Refusal => {
  const { name, host, usedBy } = data;
  const registered = state.get(name);
  if (registered === undefined) return refuse('connection.not-found', { connection: name });
  if (serverOf(registered, host) === undefined)
    return refuse('connection.host-unknown', { connection: name, host: `host ${host}` });
  if (usedBy !== undefined) return refuse('stock.host-in-use', { connection: name, host, cluster: usedBy });
  return [{ type: 'HostAccepted', data: { name, host } }];
};

const requestPower = (state: ConnectionsState, { data }: RequestHostPower): readonly ConnectionFact[] | Refusal => {
  const { name, host } = data;
  const registered = state.get(name);
  if (registered === undefined) return refuse('connection.not-found', { connection: name });
  const known = inventoryOf(registered)?.hosts.find((one) => one.name === host);
  if (known === undefined) return refuse('connection.host-unknown', { connection: name, host: `host ${host}` });
  if (known.power === undefined) return refuse('connection.host-power-none', { connection: name, host });
  return [{ type: 'HostPowerRequested', data }];
};

const register = (state: ConnectionsState, { data }: RegisterConnection): readonly ConnectionFact[] | Refusal => {
  const { name, sealed, users, moved, namespaces, since, quota, ...place } = data;
  const before = state.get(name);
  const refusal = before && orphaning(name, { before, after: place, moved }, users);
  if (refusal !== undefined) return refusal;
  const secretRef = sealed ?? before?.secretRef ?? null;
  const settings = { ...place, ...grantOf(before, { namespaces, quota }, since) };
  // A new secret under the same reference is news for infra-svc, so it is stated although nothing else changed.
  if (sealed === undefined && isSame(before, { ...settings, secretRef })) return nothing;
  return [{ type: 'ConnectionRegistered', data: { name, ...settings, secretRef } }];
};

const changed = (state: ConnectionsState, { data }: ChangeConnection): readonly ConnectionFact[] | Refusal => {
  const { name, namespaces, since, quota: change = {} } = data;
  const before = state.get(name);
  if (before === undefined) return refuse('connection.not-found', { connection: name });
  const quota = withQuotaChange(before.quota ?? {}, change);
  // A quota without limits is none.
  const { quota: _before, seq: _seq, ...settings } = { ...before, ...grantOf(before, { namespaces }, since) };
  const after = Object.keys(quota).length === 0 ? settings : { ...settings, quota };
  return isSame(before, after) ? nothing : [{ type: 'ConnectionRegistered', data: { name, ...after } }];
};

const isSame = (before: Registered | undefined, after: Omit<Registered, 'seq'>): boolean =>
  before !== undefined && sameJson(before, { ...after, seq: before.seq });

/** All connections; registering one again replaces its settings. */
export const connections: Decider<
  ConnectionsState,
  | RegisterConnection
  | ChangeConnection
  | VerifyConnection
  | ReadCredential
  | RemoveConnection
  | AcceptHostKey
  | AcceptHost
  | RequestHostPower
  | RequestOrphanRemoval,
  ConnectionFact
> = {
  initial: new Map(),

  decide: (state, command) => {
    switch (command.type) {
      case 'RegisterConnection':
        return register(state, command);
      case 'ChangeConnection':
        return changed(state, command);
      case 'VerifyConnection': {
        const { name } = command.data;
        if (!state.has(name)) return refuse('connection.not-found', { connection: name });
        return [{ type: 'ConnectionVerificationRequested', data: { name } }];
      }
      case 'ReadCredential':
        return readCredential(state, command);
      case 'AcceptHostKey':
        return acceptHostKey(state, command);
      case 'AcceptHost':
        return acceptHost(state, command);
      case 'RequestHostPower':
        return requestPower(state, command);
      case 'RequestOrphanRemoval': {
        const { name, id, isOrphan } = command.data;
        if (!state.has(name)) return refuse('connection.not-found', { connection: name });
        if (!isOrphan) return refuse('connection.orphan-unknown', { connection: name, orphan: id });
        return [{ type: 'OrphanVmRemovalRequested', data: { name, id } }];
      }
      case 'RemoveConnection': {
        const { name, usedBy } = command.data;
        if (!state.has(name)) return refuse('connection.not-found', { connection: name });
        if (usedBy.length > 0) return refuse('connection.in-use', { connection: name, clusters: usedBy.join(', ') });
        return [{ type: 'ConnectionRemoved', data: { name } }];
      }
    }
  },

  evolve: (state, event) => {
    if (event.type === 'ConnectionRegistered') {
      const { name, ...registered } = event.data;
      return new Map(state).set(name, { ...registered, seq: event.meta.seq });
    }
    if (event.type !== 'ConnectionRemoved') return state;
    const left = new Map(state);
    left.delete(event.data.name);
    return left;
  },
};
