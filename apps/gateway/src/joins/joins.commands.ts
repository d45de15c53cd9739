import {
  HostCredential,
  joinTokenId,
  joinTokenText,
  refuse,
  type ClusterUid,
  type ConnectionName,
  type HostJoinRequest,
  type HostJoinView,
  type JoinTokenRequest,
  type JoinTokenView,
  type Namespace,
  type SecretRef,
} from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { CLOCK, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { Identity } from '../access/identity.js';
import { causeOf, type Caller } from '../http/caller.js';
import { orRefuse, Refused } from '../http/refused.js';
import { ManifestCommands } from '../manifest/manifest.commands.js';
import { admittedBy, joins, type Joins } from './joins.decider.js';

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

type Host = NonNullable<ReturnType<typeof admittedBy>>;

/** Of a pool of a cluster, as it is declared. */
export interface JoinedPool extends ClusterAddress {
  readonly uid: ClusterUid;
  readonly pool: string;
  readonly connection: ConnectionName;
}

/** Join tokens are issued, and hosts that present one are admitted and become nodes. */
@Injectable()
export class JoinCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ManifestCommands) private readonly manifests: ManifestCommands,
    @Inject(SECRETS) private readonly secrets: Pick<SecretStore, 'get'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The token is in the answer only: neither the log nor a database has more than its checksum. */
  async issue(
    { namespace, cluster, uid, pool, connection }: JoinedPool,
    { ttlSeconds }: JoinTokenRequest,
    caller: Caller,
  ): Promise<Omit<JoinTokenView, 'script'> & { readonly seq: number }> {
    const id = randomBytes(TOKEN_ID_BYTES).toString('hex');
    const token = joinTokenText(id, randomBytes(SECRET_BYTES));
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + ttlSeconds * MS_PER_SECOND).toISOString();
    const data = { uid, pool, connection, admission: id, sha256: sha256Of(token), expiresAt, now: now.toISOString() };
    const stream = { namespace, cluster, context: 'joins' };
    // Not repeatable by a key: the answer of the first one is kept, sealed, and a token whose answer was lost admits no host.
    const cause = causeOf({ identity: caller.identity, requestId: caller.requestId });
    const { seq } = orRefuse(await this.handle(joins, stream, { type: 'IssueToken', data }, cause));
    return { kind: 'JoinToken', id, namespace, cluster, pool, token, expiresAt, seq };
  }

  /** Called until the host has its credential. Each call continues where the one before ended, also after a crash in between. */
  async join({ namespace, cluster, token, user, facts }: HostJoinRequest, requestId: string): Promise<HostJoinView> {
    const address = { namespace, cluster };
    const id = joinTokenId(token);
    if (id === undefined) throw new Refused(refuse('join.token-refused', { cluster }));
    const data = { cluster, token: id, sha256: sha256Of(token), user, facts, now: this.clock.now().toISOString() };
    const cause = causeOf({ identity: identityOf(id, namespace), requestId });
    const stream = { ...address, context: 'joins' };
    const { state } = orRefuse(await this.handle(joins, stream, { type: 'AdmitHost', data }, cause));
    const host = admittedBy(state as Joins | undefined, id);
    if (host === undefined) throw new Refused(refuse('join.token-refused', { cluster }));
    if (host.requestId === undefined) return this.request(address, host, requestId);
    return this.progress(address, host);
  }

  /** The pool grows by this host. The answer names what prevents it now, and the host asks again. */
  private async request(address: ClusterAddress, host: Host, requestId: string): Promise<HostJoinView> {
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
      if (!(error instanceof Refused)) throw error;
      return this.view(host, 'Waiting', error.refusals.map(({ message }) => message).join('; '));
    }
    return this.view(host, 'Waiting', `the host was admitted and becomes a node of pool ${pool}`);
  }

  private async progress({ namespace, cluster }: ClusterAddress, host: Host): Promise<HostJoinView> {
    const { refusal, node, isKnown, uid, hostId } = host;
    if (refusal !== undefined) return this.view(host, 'Rejected', refusal);
    if (node === undefined) return this.view(host, 'Waiting', 'its machine is not named yet');
    const sealed =
      isKnown === true ? await this.secrets.get(`bootstrap-svc.channel.${hostId}` as SecretRef) : undefined;
    if (sealed === undefined) return this.view(host, 'Waiting', `node ${node} waits for its credential`);
    const credential = HostCredential.parse(parseJsonOrUndefined(sealed, { lengthMax: CREDENTIAL_LENGTH_MAX }));
    if (credential.uid !== uid || credential.node !== node || credential.cluster !== cluster)
      throw new Error(`the credential of ${namespace}/${cluster}/${node} is that of another node`);
    return { ...this.view(host, 'Admitted', `the host is node ${node}`), credential };
  }

  private view({ hostId, pool }: Host, status: HostJoinView['status'], message: string): HostJoinView {
    return { kind: 'HostJoin', status, host: hostId, pool, message };
  }
}
