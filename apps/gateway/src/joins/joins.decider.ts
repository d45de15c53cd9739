import {
  JOIN_TOKENS_MAX,
  refuse,
  type ClusterUid,
  type ConnectionName,
  type EventData,
  type Fact,
  type HostFacts,
  type HostId,
  type JoinTokenId,
  type NodeName,
  type Refusal,
  type StoredEvent,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** `now` is RFC 3339. */
export type IssueToken = Command<'IssueToken', EventData<'JoinTokenIssued'> & { readonly now: string }>;

/** A host presents a token. `sha256` is that of the text that it sent. */
export type AdmitHost = Command<
  'AdmitHost',
  {
    readonly cluster: string;
    readonly token: JoinTokenId;
    readonly sha256: string;
    readonly user: string;
    readonly facts: HostFacts;
    readonly now: string;
  }
>;

export type JoinsCommand = IssueToken | AdmitHost;
export type JoinsFact = Fact<'JoinTokenIssued' | 'HostAdmitted'>;

/** A host that was admitted, and how far it is. */
export interface Admitted {
  readonly hostId: HostId;
  readonly user: string;
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

interface Token extends Pick<EventData<'JoinTokenIssued'>, 'pool' | 'connection' | 'sha256' | 'expiresAt'> {
  readonly host?: Admitted;
}

/** The tokens of one incarnation of a cluster; undefined: there is no such cluster, or it is being deleted. */
export interface Joins {
  readonly uid: ClusterUid;
  readonly tokens: Readonly<Record<JoinTokenId, Token>>;
}

export const hostIdOf = (token: JoinTokenId): HostId => `host-${token}`;

const isOver = ({ expiresAt }: Token, now: string): boolean => Date.parse(expiresAt) <= Date.parse(now);

/** Those that a host may still present. */
const openTokens = ({ tokens }: Joins, now: string): readonly Token[] =>
  Object.values(tokens).filter((token) => token.host === undefined && !isOver(token, now));

const issue = (state: Joins | undefined, { data }: IssueToken): readonly JoinsFact[] | Refusal => {
  const { now, ...issued } = data;
  if (state?.uid !== issued.uid) return refuse('cluster.unknown', { cluster: issued.uid });
  if (state.tokens[issued.admission] !== undefined) return nothing;
  if (openTokens(state, now).length >= JOIN_TOKENS_MAX)
    return refuse('join.tokens-many', { cluster: issued.uid, max: JOIN_TOKENS_MAX });
  return [{ type: 'JoinTokenIssued', data: issued }];
};

/** Every fault has the same answer: a host learns nothing about tokens that it does not have. */
const admit = (state: Joins | undefined, { data }: AdmitHost): readonly JoinsFact[] | Refusal => {
  const { cluster, token: id, sha256, user, facts, now } = data;
  const refused = refuse('join.token-refused', { cluster });
  const token = state?.tokens[id];
  if (state === undefined || token === undefined || token.sha256 !== sha256) return refused;
  const { host, pool, connection } = token;
  if (host !== undefined) return host.user === user && host.isGone !== true ? nothing : refused;
  const isUsed = Object.values(state.tokens).some((other) => other.host?.user === user);
  if (isOver(token, now) || isUsed) return refused;
  const admitted = { uid: state.uid, pool, connection, admission: id, hostId: hostIdOf(id), user, facts };
  return [{ type: 'HostAdmitted', data: admitted }];
};

const withHosts = (state: Joins, change: (host: Admitted) => Admitted): Joins => {
  const tokens = Object.entries(state.tokens).map(([id, token]): [string, Token] => {
    if (token.host === undefined) return [id, token];
    const host = change(token.host);
    return [id, host === token.host ? token : { ...token, host }];
  });
  return { ...state, tokens: Object.fromEntries(tokens) };
};

const onIssued = (state: Joins, { admission, ...data }: EventData<'JoinTokenIssued'>, now: string): Joins => {
  const { pool, connection, sha256, expiresAt } = data;
  // What was never used and has expired admits no host: it need not be remembered.
  const kept = Object.entries(state.tokens).filter(([, other]) => other.host !== undefined || !isOver(other, now));
  return { ...state, tokens: { ...Object.fromEntries(kept), [admission]: { pool, connection, sha256, expiresAt } } };
};

const onAdmitted = (state: Joins, { admission: id, hostId, user }: EventData<'HostAdmitted'>): Joins => {
  const token = state.tokens[id];
  if (token === undefined) return state;
  return { ...state, tokens: { ...state.tokens, [id]: { ...token, host: { hostId, user } } } };
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
      return withHosts(state, (host) => (host.node === name ? { ...host, isGone: true } : host));
    }
    default:
      return state;
  }
};

const evolve = (state: Joins | undefined, event: StoredEvent): Joins | undefined => {
  if (event.type === 'ClusterRequested') return { uid: event.data.uid, tokens: {} };
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeletionRequested':
    case 'ClusterDeleted':
      return undefined;
    case 'JoinTokenIssued':
      return onIssued(state, event.data, event.meta.time);
    case 'HostAdmitted':
      return onAdmitted(state, event.data);
    default:
      return onProgress(state, event);
  }
};

/** Which hosts may join a cluster: each token admits one, until it expires, and only with the key that was presented first. */
export const joins: Decider<Joins | undefined, JoinsCommand, JoinsFact> = {
  initial: undefined,
  reads: 'cluster',
  decide: (state, command) => (command.type === 'IssueToken' ? issue(state, command) : admit(state, command)),
  evolve,
};

/** The host that a token has admitted. */
export const admittedBy = (
  state: Joins | undefined,
  token: JoinTokenId,
):
  (Admitted & { readonly pool: string; readonly connection: ConnectionName; readonly uid: ClusterUid }) | undefined => {
  const found = state?.tokens[token];
  if (state === undefined || found?.host === undefined) return undefined;
  return { ...found.host, pool: found.pool, connection: found.connection, uid: state.uid };
};
