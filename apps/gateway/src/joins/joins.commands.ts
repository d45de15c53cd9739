import {
  bootstrapDataOf,
  bootstrapKeyRef,
  bootstrapWindowAt,
  bootstrapWindowEnd,
  formatOfBootstrapData,
  HostCredential,
  joinCommandOf,
  joinTokenId,
  joinTokenText,
  refuse,
  type BootstrapDataQuery,
  type BootstrapDataView,
  type ClusterUid,
  type ConnectionName,
  type HostId,
  type HostJoinRequest,
  type HostJoinView,
  type HostTokenRequest,
  type JoinTokenId,
  type JoinTokenRequest,
  type JoinTokenView,
  type Namespace,
  type SecretRef,
} from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { CLOCK, poolToken, proofOf, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { Identity } from '../access/identity.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { ManifestCommands } from '../manifest/manifest.commands.js';
import { hostIdOfKey } from './bootstrap.tokens.js';
import {
  hostIdOf,
  joins,
  type Admitted,
  type IssueHostToken,
  type IssueToken,
  type Joins,
  type JoinsCommand,
  type Registered,
} from './joins.decider.js';

const TOKEN_ID_BYTES = 6;
const SECRET_BYTES = 32;
const MS_PER_SECOND = 1_000;
const CREDENTIAL_LENGTH_MAX = 131_072;

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** As whom the pool grows: an operator has asked for that by issuing the token. Which host it was stands in the fact. */
const identityOf = (host: string, namespace: Namespace): Identity => ({
  tokenId: host,
  actor: 'system/gateway',
  roles: [{ namespace, role: 'operator' }],
});

/** What bootstrap data are made of. */
export interface AskedData {
  readonly admission: JoinTokenId;
  /** By the manifest; undefined: they are generated. */
  readonly given: string | undefined;
  readonly script: JoinTokenView['script'];
  readonly query: BootstrapDataQuery;
}

/** Of one incarnation of a cluster. */
export interface KnownCluster extends ClusterAddress {
  readonly uid: ClusterUid;
}

/** Of a pool of a cluster, as it is declared. */
export interface JoinedPool extends KnownCluster {
  readonly pool: string;
  readonly connection: ConnectionName;
}

type IssuedToken = Omit<JoinTokenView, 'script'> & { readonly seq: number };
type IssuedData = Pick<IssueToken['data'], 'admission' | 'sha256' | 'expiresAt' | 'now'>;

/** Join tokens are issued, and hosts that present one are admitted and become nodes. */
@Injectable()
export class JoinCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ManifestCommands) private readonly manifests: ManifestCommands,
    @Inject(SECRETS) private readonly secrets: Pick<SecretStore, 'get'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async issue(
    { namespace, cluster, uid, pool, connection }: JoinedPool,
    request: JoinTokenRequest,
    caller: Caller,
  ): Promise<IssuedToken> {
    const { token, issued } = this.newToken(request);
    const command = { type: 'IssueToken', data: { uid, pool, connection, ...issued } } as const;
    return { ...(await this.issued({ namespace, cluster }, command, caller)), token, pool };
  }

  /** For a host that waits until a pool claims it. */
  async issueForHost(
    { namespace, cluster, uid }: KnownCluster,
    { labels, ...request }: HostTokenRequest,
    caller: Caller,
  ): Promise<IssuedToken> {
    const { token, issued } = this.newToken(request);
    const command = { type: 'IssueHostToken', data: { uid, labels, ...issued } } as const;
    return { ...(await this.issued({ namespace, cluster }, command, caller)), token };
  }

  /** Its token registers it no more. A pool that claims it at the same time wins. */
  async unregister({ namespace, cluster, uid }: KnownCluster, hostId: HostId, caller: Caller): Promise<number> {
    const command = { type: 'UnregisterHost', data: { uid, cluster, hostId } } as const;
    return unwrap(await this.handle(joins, { namespace, cluster, context: 'joins' }, command, causeOf(caller))).seq;
  }

  /** The token is in the answer only: neither the log nor a database has more than its checksum. */
  private newToken({ ttlSeconds }: JoinTokenRequest): { readonly token: string; readonly issued: IssuedData } {
    const id = randomBytes(TOKEN_ID_BYTES).toString('hex');
    const token = joinTokenText(id, randomBytes(SECRET_BYTES));
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + ttlSeconds * MS_PER_SECOND).toISOString();
    return { token, issued: { admission: id, sha256: sha256Of(token), expiresAt, now: now.toISOString() } };
  }

  private async issued(
    { namespace, cluster }: ClusterAddress,
    command: IssueToken | IssueHostToken,
    caller: Caller,
  ): Promise<Omit<IssuedToken, 'token'>> {
    // Not repeatable by a key: the answer of the first one is kept, sealed, and a token whose answer was lost admits no host.
    const cause = causeOf({ identity: caller.identity, requestId: caller.requestId });
    const { seq } = unwrap(await this.handle(joins, { namespace, cluster, context: 'joins' }, command, cause));
    const { admission: id, expiresAt } = command.data;
    return { kind: 'JoinToken', id, namespace, cluster, expiresAt, seq };
  }

  /** A token of the pool as it is now, as text for the first boot of hosts. */
  async bootstrapData({ namespace, cluster, pool }: JoinedPool, asked: AskedData): Promise<BootstrapDataView> {
    const { admission, given, script, query } = asked;
    const key = await this.secrets.get(bootstrapKeyRef(admission));
    if (key === undefined) throw new RefusalError(refuse('join.bootstrap-pending', { pool }));
    const window = bootstrapWindowAt(this.clock.now().getTime());
    const token = poolToken(key, admission, window);
    const expiresAt = new Date(bootstrapWindowEnd(window)).toISOString();
    const { server, authority, format: wanted } = query;
    const ca = authority === undefined ? undefined : Buffer.from(authority, 'base64').toString('utf8');
    const command = joinCommandOf({ server, ca, issued: { namespace, cluster, token }, script });
    const format = given === undefined ? wanted : (formatOfBootstrapData(given) ?? wanted);
    const data = bootstrapDataOf({ command, format, given, cluster: `${namespace}/${cluster}`, pool, expiresAt });
    const source = given === undefined ? 'generated' : 'given';
    return { kind: 'BootstrapData', namespace, cluster, pool, format, source, data, expiresAt };
  }

  /** Called until the host has its credential. Each call continues where the one before ended, also after a crash in between. */
  async join(request: HostJoinRequest, requestId: string): Promise<HostJoinView> {
    const { namespace, cluster, token } = request;
    const address = { namespace, cluster };
    const id = joinTokenId(token);
    if (id === undefined) throw new RefusalError(refuse('join.token-refused', { cluster }));
    const cause = causeOf({ identity: identityOf(id, namespace), requestId });
    const { hostId, command } = await this.presented(id, request);
    const { state } = unwrap(await this.handle(joins, { ...address, context: 'joins' }, command, cause));
    const { uid, hosts, registered } = state as Joins;
    const waiting = registered[hostId];
    if (waiting !== undefined) return this.waits(waiting);
    const host = hosts[hostId];
    if (host === undefined) throw new RefusalError(refuse('join.token-refused', { cluster }));
    // A machine of a provider is a node already.
    if (host.requestId === undefined && host.machine === undefined) return this.request(address, host, requestId);
    return this.progress(address, { ...host, uid });
  }

  /** The token was issued for one host, or is one of a pool: only those of pools have a sealed key. */
  private async presented(
    token: JoinTokenId,
    { cluster, token: text, user, facts }: HostJoinRequest,
  ): Promise<{ readonly hostId: HostId; readonly command: JoinsCommand }> {
    const now = this.clock.now();
    const about = { cluster, token, user, facts };
    const key = await this.secrets.get(bootstrapKeyRef(token));
    if (key === undefined) {
      const data = { ...about, sha256: sha256Of(text), now: now.toISOString() };
      return { hostId: hostIdOf(token), command: { type: 'AdmitHost', data } };
    }
    const hostId = hostIdOfKey(token, user);
    const proof = proofOf(key, { admission: token, text, nowMs: now.getTime() });
    return { hostId, command: { type: 'AdmitHostToPool', data: { ...about, hostId, proof } } };
  }

  /** The pool grows by this host. The answer names what prevents it now, and the host asks again. */
  private async request(address: ClusterAddress, host: Admitted, requestId: string): Promise<HostJoinView> {
    const { hostId, pool, connection } = host;
    const caller: Caller = {
      identity: identityOf(hostId, address.namespace),
      requestId,
      waitMs: 0,
      // Once, however often the host asks, and whichever replica it asks.
      commandId: `join/${hostId}`,
      lastEventId: undefined,
      signal: new AbortController().signal,
    };
    try {
      await this.manifests.adopt({ ...address, pool }, { connection, id: hostId }, caller);
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      return this.view(host, 'Waiting', error.refusals.map(({ message }) => message).join('; '));
    }
    return this.view(host, 'Waiting', `the host was admitted and becomes a node of pool ${pool}`);
  }

  private async progress(
    { namespace, cluster }: ClusterAddress,
    host: Admitted & { readonly uid: ClusterUid },
  ): Promise<HostJoinView> {
    const { refusal, node, isKnown, uid, hostId, machine = hostId } = host;
    if (refusal !== undefined) return this.view(host, 'Rejected', refusal);
    if (node === undefined) return this.view(host, 'Waiting', 'its machine is not named yet');
    const sealed =
      isKnown === true ? await this.secrets.get(`bootstrap-svc.channel.${machine}` as SecretRef) : undefined;
    if (sealed === undefined) return this.view(host, 'Waiting', `node ${node} waits for its credential`);
    const credential = HostCredential.parse(parseJsonOrUndefined(sealed, { lengthMax: CREDENTIAL_LENGTH_MAX }));
    if (credential.uid !== uid || credential.node !== node || credential.cluster !== cluster)
      throw new Error(`the credential of ${namespace}/${cluster}/${node} is that of another node`);
    return { ...this.view(host, 'Admitted', `the host is node ${node}`), credential };
  }

  /** Until a pool claims it. The host asks again. */
  private waits({ hostId, labels }: Registered): HostJoinView {
    const words = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    const message = `the host is registered with ${words.join(', ')}: no pool claims it yet`;
    return { kind: 'HostJoin', status: 'Waiting', host: hostId, message };
  }

  private view({ hostId, pool }: Admitted, status: HostJoinView['status'], message: string): HostJoinView {
    return { kind: 'HostJoin', status, host: hostId, pool, message };
  }
}
