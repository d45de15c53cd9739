import {
  JOIN_TOKENS_MAX,
  bootsFromUserData,
  isSelectedHost,
  needsBootstrapData,
  refuse,
  type ClusterUid,
  type ConnectionName,
  type DeclaredPool,
  type EventData,
  type Fact,
  type HostFacts,
  type HostId,
  type HostSelector,
  type JoinTokenId,
  type Machine,
  type NodeName,
  type Refusal,
  type SecretRef,
  type StoredEvent,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** `now` is RFC 3339. */
export type IssueToken = Command<'IssueToken', EventData<'JoinTokenIssued'> & { readonly now: string }>;

/** A token for a host that is registered before its pool. */
export type IssueHostToken = Command<'IssueHostToken', EventData<'HostTokenIssued'> & { readonly now: string }>;

/** A host that no pool has claimed may not become a node any more. */
export type UnregisterHost = Command<'UnregisterHost', EventData<'HostUnregistered'> & { readonly cluster: string }>;

/** The key of a pool's tokens is sealed. */
export type GenerateBootstrapData = Command<
  'GenerateBootstrapData',
  Omit<EventData<'BootstrapDataGenerated'>, 'connection'>
>;

interface PresentedToken {
  readonly cluster: string;
  readonly token: JoinTokenId;
  readonly user: string;
  readonly facts: HostFacts;
}

/** A host presents a token that was issued for one host. `sha256` is that of the text that it sent. */
export type AdmitHost = Command<'AdmitHost', PresentedToken & { readonly sha256: string; readonly now: string }>;

/** A host presents a token of a pool. `hostId` follows from the token and the key of the host. */
export type AdmitHostToPool = Command<
  'AdmitHostToPool',
  PresentedToken & {
    readonly hostId: HostId;
    /** Whether the token is one of the pool's own, by its key and the time. */
    readonly proof: 'valid' | 'expired' | 'forged';
  }
>;

export type JoinsCommand =
  IssueToken | IssueHostToken | UnregisterHost | GenerateBootstrapData | AdmitHost | AdmitHostToPool;
export type JoinsFact = Fact<
  | 'JoinTokenIssued'
  | 'HostTokenIssued'
  | 'HostRegistered'
  | 'HostUnregistered'
  | 'BootstrapDataGenerated'
  | 'HostAdmitted'
>;

/** A host that was admitted, and how far it is. */
export interface Admitted {
  readonly hostId: HostId;
  readonly pool: string;
  readonly connection: ConnectionName;
  readonly user: string;
  /** Its id at the provider that made it; absent: none did. */
  readonly machine?: string;
  /** Of the request for its node; absent: none was recorded yet. */
  readonly requestId?: string;
  /** Absent: its machine is not named yet. */
  readonly node?: NodeName;
  /** NATS has claims for its user. */
  readonly isKnown?: true;
  /** Why it does not become a node. */
  readonly refusal?: string;
  /** Its node has left the cluster, or was given up: the host may not come back by this token. */
  readonly isGone?: true;
}

/** For a pool, or with the labels by which one claims its host. */
type Token = Pick<EventData<'JoinTokenIssued'>, 'sha256' | 'expiresAt'> &
  (Pick<EventData<'JoinTokenIssued'>, 'pool' | 'connection'> | Pick<EventData<'HostTokenIssued'>, 'labels'>);

/** A host that no pool has claimed yet. */
export type Registered = Omit<EventData<'HostRegistered'>, 'uid'>;

/** A pool whose hosts join by themselves. */
interface JoiningPool {
  readonly connection: ConnectionName;
  /** A provider makes its machines, with the data as user data. */
  readonly boots?: true;
  /** Registered hosts that it claims. */
  readonly claims?: HostSelector;
  /** Its bootstrap data; absent: they do not exist yet. */
  readonly data?: { readonly admission: JoinTokenId; readonly keyRef: SecretRef };
}

/** Who may join one incarnation of a cluster; undefined: there is no such cluster, or it is being deleted. */
export interface Joins {
  readonly uid: ClusterUid;
  /** Those that were issued for one host each. */
  readonly tokens: Readonly<Record<JoinTokenId, Token>>;
  readonly pools: Readonly<Record<string, JoiningPool>>;
  readonly hosts: Readonly<Record<HostId, Admitted>>;
  /** Hosts that wait until a pool claims them. */
  readonly registered: Readonly<Record<HostId, Registered>>;
  /** Machines that were made with bootstrap data, as their provider has reported them, by their ids there. */
  readonly machines: Readonly<Record<string, { readonly node: NodeName; readonly pool: string }>>;
}

/** The host that a token for one host admits. */
export const hostIdOf = (token: JoinTokenId): HostId => `host-${token}`;

const isOver = ({ expiresAt }: Token, now: string): boolean => Date.parse(expiresAt) <= Date.parse(now);

const isUsed = ({ hosts, registered }: Joins, token: JoinTokenId): boolean =>
  hosts[hostIdOf(token)] !== undefined || registered[hostIdOf(token)] !== undefined;

/** Those that a host may still present. */
const openTokens = (state: Joins, now: string): readonly Token[] =>
  Object.entries(state.tokens).flatMap(([id, token]) => (isUsed(state, id) || isOver(token, now) ? [] : [token]));

/** A host that waits for a pool takes the place of its token. undefined: there is room for another one. */
const isFull = (state: Joins, now: string): Refusal | undefined =>
  openTokens(state, now).length + Object.keys(state.registered).length >= JOIN_TOKENS_MAX
    ? refuse('join.tokens-many', { cluster: state.uid, max: JOIN_TOKENS_MAX })
    : undefined;

const issue = (state: Joins | undefined, { data }: IssueToken): readonly JoinsFact[] | Refusal => {
  const { now, ...issued } = data;
  if (state?.uid !== issued.uid) return refuse('cluster.unknown', { cluster: issued.uid });
  if (state.tokens[issued.admission] !== undefined) return nothing;
  return isFull(state, now) ?? [{ type: 'JoinTokenIssued', data: issued }];
};

const issueForHost = (state: Joins | undefined, { data }: IssueHostToken): readonly JoinsFact[] | Refusal => {
  const { now, ...issued } = data;
  if (state?.uid !== issued.uid) return refuse('cluster.unknown', { cluster: issued.uid });
  if (state.tokens[issued.admission] !== undefined) return nothing;
  return isFull(state, now) ?? [{ type: 'HostTokenIssued', data: issued }];
};

const unregister = (state: Joins | undefined, { data }: UnregisterHost): readonly JoinsFact[] | Refusal => {
  const { cluster, uid, hostId } = data;
  if (state?.uid !== uid) return refuse('cluster.unknown', { cluster: uid });
  if (state.registered[hostId] === undefined) return refuse('join.host-unknown', { cluster, host: hostId });
  return [{ type: 'HostUnregistered', data: { uid, hostId } }];
};

/** Once for a pool; a pool that was removed meanwhile needs none. */
const generate = (state: Joins | undefined, { data }: GenerateBootstrapData): readonly JoinsFact[] => {
  const pool = state?.uid === data.uid ? state.pools[data.pool] : undefined;
  if (pool === undefined || pool.data !== undefined) return nothing;
  return [{ type: 'BootstrapDataGenerated', data: { ...data, connection: pool.connection } }];
};

/** A key is that of one host, which is admitted once. */
const isKnownUser = ({ hosts, registered }: Joins, user: string): boolean =>
  [...Object.values(hosts), ...Object.values(registered)].some((one) => one.user === user);

/** The first declared pool that selects a registered host becomes its owner. Nothing: it waits. */
const claim = ({ uid, pools }: Joins, { labels, ...host }: Registered): readonly JoinsFact[] => {
  const [pool, owner] = Object.entries(pools).find(([, { claims }]) => claims && isSelectedHost(claims, labels)) ?? [];
  if (pool === undefined || owner === undefined) return nothing;
  return [{ type: 'HostAdmitted', data: { uid, pool, connection: owner.connection, ...host } }];
};

/** Every fault has the same answer: a host learns nothing about tokens that it does not have. */
const admit = (state: Joins | undefined, { data }: AdmitHost): readonly JoinsFact[] | Refusal => {
  const { cluster, token: admission, sha256, user, facts, now } = data;
  const refused = refuse('join.token-refused', { cluster });
  const token = state?.tokens[admission];
  if (state === undefined || token === undefined || token.sha256 !== sha256) return refused;
  const hostId = hostIdOf(admission);
  const host = state.hosts[hostId];
  if (host !== undefined) return host.user === user && host.isGone !== true ? nothing : refused;
  const registered = state.registered[hostId];
  if (registered !== undefined) return registered.user === user ? claim(state, registered) : refused;
  if (isOver(token, now) || isKnownUser(state, user)) return refused;
  if ('labels' in token) {
    const one = { admission, hostId, user, facts, labels: token.labels };
    return [{ type: 'HostRegistered', data: { uid: state.uid, ...one } }, ...claim(state, one)];
  }
  const { pool, connection } = token;
  return [{ type: 'HostAdmitted', data: { uid: state.uid, pool, connection, admission, hostId, user, facts } }];
};

/** More than these at once are not what a pool grows by: someone has got hold of its token. */
const waitingIn = ({ hosts }: Joins, pool: string): number =>
  Object.values(hosts).filter((host) => host.pool === pool && host.node === undefined && host.refusal === undefined)
    .length;

/** The provider vouches for a machine that it has made: it is admitted once, also after the token of its first boot has expired. */
const admitMachine = (
  state: Joins,
  { data: { cluster, token: admission, hostId, proof, user, facts } }: AdmitHostToPool,
  { pool, connection }: { readonly pool: string; readonly connection: ConnectionName },
): readonly JoinsFact[] | Refusal => {
  const { instanceId: machine = '' } = facts;
  if (state.machines[machine]?.pool !== pool) return refuse('join.machine-unknown', { cluster });
  const isTaken = Object.values(state.hosts).some((host) => host.machine === machine);
  if (isTaken || isKnownUser(state, user)) return refuse('join.token-refused', { cluster });
  const late = proof === 'expired' ? { late: true as const } : {};
  const admitted = { uid: state.uid, pool, connection, admission, hostId, user, facts, machine, ...late };
  return [{ type: 'HostAdmitted', data: admitted }];
};

/** A host that was admitted in time may ask until it has its credential. */
const admitToPool = (state: Joins | undefined, { data }: AdmitHostToPool): readonly JoinsFact[] | Refusal => {
  const { cluster, token: admission, hostId, proof, user, facts } = data;
  const refused = refuse('join.token-refused', { cluster });
  const [pool, found] = Object.entries(state?.pools ?? {}).find(([, one]) => one.data?.admission === admission) ?? [];
  if (state === undefined || pool === undefined || found === undefined || proof === 'forged') return refused;
  const host = state.hosts[hostId];
  if (host !== undefined) return host.user === user && host.isGone !== true ? nothing : refused;
  const { connection } = found;
  if (found.boots === true) return admitMachine(state, { type: 'AdmitHostToPool', data }, { pool, connection });
  if (proof === 'expired' || isKnownUser(state, user)) return refused;
  if (waitingIn(state, pool) >= JOIN_TOKENS_MAX)
    return refuse('join.tokens-many', { cluster: state.uid, max: JOIN_TOKENS_MAX });
  return [{ type: 'HostAdmitted', data: { uid: state.uid, pool, connection, admission, hostId, user, facts } }];
};

const withHosts = (state: Joins, change: (host: Admitted) => Admitted): Joins => {
  const hosts = Object.entries(state.hosts).map(([id, host]): [string, Admitted] => [id, change(host)]);
  return hosts.every(([id, host]) => host === state.hosts[id]) ? state : { ...state, hosts: Object.fromEntries(hosts) };
};

const onTokenIssued = (
  state: Joins,
  { admission, uid: _uid, ...token }: EventData<'JoinTokenIssued'> | EventData<'HostTokenIssued'>,
  now: string,
): Joins => {
  // What was never used and has expired admits no host: it need not be remembered.
  const kept = Object.entries(state.tokens).filter(([id, other]) => isUsed(state, id) || !isOver(other, now));
  return { ...state, tokens: { ...Object.fromEntries(kept), [admission]: token } };
};

const onHostRegistered = (state: Joins, { uid: _uid, ...host }: EventData<'HostRegistered'>): Joins => ({
  ...state,
  registered: { ...state.registered, [host.hostId]: host },
});

const withoutRegistered = (state: Joins, hostId: HostId): Joins => {
  if (state.registered[hostId] === undefined) return state;
  const { [hostId]: _gone, ...registered } = state.registered;
  return { ...state, registered };
};

/** Its token is forgotten with it, so that the host cannot register again. */
const onHostUnregistered = (state: Joins, { hostId }: EventData<'HostUnregistered'>): Joins => {
  const tokens = Object.entries(state.tokens).filter(([id]) => hostIdOf(id) !== hostId);
  return { ...withoutRegistered(state, hostId), tokens: Object.fromEntries(tokens) };
};

const onDataGenerated = (state: Joins, { pool, connection, ...data }: EventData<'BootstrapDataGenerated'>): Joins => {
  const { admission, keyRef } = data;
  const known = state.pools[pool];
  return { ...state, pools: { ...state.pools, [pool]: { ...known, connection, data: { admission, keyRef } } } };
};

const onHostAdmitted = (
  before: Joins,
  { hostId, pool, connection, user, machine }: EventData<'HostAdmitted'>,
): Joins => {
  const state = withoutRegistered(before, hostId);
  const { node } = (machine === undefined ? undefined : state.machines[machine]) ?? {};
  const made = machine === undefined ? {} : { machine, ...(node === undefined ? {} : { node }) };
  return { ...state, hosts: { ...state.hosts, [hostId]: { hostId, pool, connection, user, ...made } } };
};

const onMachineCreated = (state: Joins, { name, pool, providerId, reach }: Machine): Joins => {
  if (reach === undefined || state.pools[pool]?.boots !== true) return state;
  const id = providerId.slice(providerId.indexOf('://') + 3);
  return { ...state, machines: { ...state.machines, [id]: { node: name, pool } } };
};

const withoutMachine = (state: Joins, name: string): Joins => {
  const machines = Object.entries(state.machines).filter(([, { node }]) => node !== name);
  if (machines.length === Object.keys(state.machines).length) return state;
  return { ...state, machines: Object.fromEntries(machines) };
};

/** A pool that is declared no longer loses its data: its tokens admit no more hosts. */
const onPoolsDeclared = (state: Joins, declared: readonly DeclaredPool[]): Joins => {
  const pools = declared.filter(needsBootstrapData).map((pool): [string, JoiningPool] => {
    const { name, connection } = pool;
    const { data } = state.pools[name] ?? {};
    const isSame = state.pools[name]?.connection === connection;
    const boots = bootsFromUserData(pool) ? { boots: true as const } : {};
    const claims = pool.hostSelector === undefined ? {} : { claims: pool.hostSelector };
    return [name, { connection, ...boots, ...claims, ...(isSame && data !== undefined ? { data } : {}) }];
  });
  return pools.length === 0 && Object.keys(state.pools).length === 0
    ? state
    : { ...state, pools: Object.fromEntries(pools) };
};

/** How far hosts are, by the facts of all services. */
const onProgress = (state: Joins, event: StoredEvent): Joins => {
  switch (event.type) {
    case 'NodesRequested': {
      const { adopts, requestId } = event.data;
      return withHosts(state, (host) => (host.hostId === adopts ? { ...host, requestId } : host));
    }
    case 'NodesRejected': {
      const { requestId, message } = event.data;
      return withHosts(state, (host) => (host.requestId === requestId ? { ...host, refusal: message } : host));
    }
    case 'VmsPlanned': {
      const names = new Map(event.data.machines.flatMap(({ name, adopts }) => (adopts ? [[adopts.id, name]] : [])));
      return withHosts(state, (host) => {
        const node = names.get(host.hostId);
        return node === undefined ? host : { ...host, node };
      });
    }
    case 'AgentCredentialIssued': {
      const { user } = event.data;
      return withHosts(state, (host) => (host.user === user ? { ...host, isKnown: true } : host));
    }
    case 'NodeRemoved': {
      const { node } = event.data;
      return withHosts(state, (host) => (host.node === node ? { ...host, isGone: true } : host));
    }
    case 'VmDeleted': {
      const { name } = event.data;
      return withoutMachine(
        withHosts(state, (host) => (host.node === name ? { ...host, isGone: true } : host)),
        name,
      );
    }
    case 'VmCreated':
      return onMachineCreated(state, event.data.machine);
    default:
      return state;
  }
};

export const joinsAfter = (state: Joins | undefined, event: StoredEvent): Joins | undefined => {
  if (event.type === 'ClusterRequested')
    return { uid: event.data.uid, tokens: {}, pools: {}, hosts: {}, registered: {}, machines: {} };
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeletionRequested':
    case 'ClusterDeleted':
      return undefined;
    case 'JoinTokenIssued':
    case 'HostTokenIssued':
      return onTokenIssued(state, event.data, event.meta.time);
    case 'HostRegistered':
      return onHostRegistered(state, event.data);
    case 'HostUnregistered':
      return onHostUnregistered(state, event.data);
    case 'ClusterSpecChanged':
      return onPoolsDeclared(state, event.data.spec.pools);
    case 'BootstrapDataGenerated':
      return onDataGenerated(state, event.data);
    case 'HostAdmitted':
      return onHostAdmitted(state, event.data);
    default:
      return onProgress(state, event);
  }
};

const decide = (state: Joins | undefined, command: JoinsCommand): readonly JoinsFact[] | Refusal => {
  switch (command.type) {
    case 'IssueToken':
      return issue(state, command);
    case 'IssueHostToken':
      return issueForHost(state, command);
    case 'UnregisterHost':
      return unregister(state, command);
    case 'GenerateBootstrapData':
      return generate(state, command);
    case 'AdmitHost':
      return admit(state, command);
    case 'AdmitHostToPool':
      return admitToPool(state, command);
  }
};

/**
 * Which hosts may join a cluster. A token that was issued for one host admits the first one that presents it; tokens of a pool admit hosts as
 * long as they are valid. A token without a pool registers its host, which waits until a declared pool claims it. Each counts for a host only with the key that it presented first.
 */
export const joins: Decider<Joins | undefined, JoinsCommand, JoinsFact> = {
  initial: undefined,
  reads: 'cluster',
  decide,
  evolve: joinsAfter,
};
