import {
  AUTOSCALER_ACTOR,
  ClusterName,
  Namespace,
  refuse,
  validCredentials,
  type ClusterUid,
} from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { keySha256 } from '@fairlead/embedded/credentials';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID, X509Certificate } from 'node:crypto';
import type { Identity } from '../access/identity.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { DiskReserve } from '../limits/disk.reserve.js';
import { RequestLimits } from '../limits/request.limits.js';
import { autoscalerCredentials } from './credentials.decider.js';

/** The one cluster that a client certificate opens. */
export interface Opened {
  readonly address: ClusterAddress;
  readonly uid: ClusterUid;
  readonly credential: string;
}

const COMMON_NAME = /^CN=fairlead:autoscaler:([0-9a-f]{16})$/m;
const ORGANIZATION = /^O=([^/\n]+)\/([^/\n]+)$/m;

/** How a client certificate names its credential and its cluster. */
export const subjectOf = ({ namespace, cluster }: ClusterAddress, credential: string) => ({
  commonName: `fairlead:autoscaler:${credential}`,
  organization: `${namespace}/${cluster}`,
});

const refused = (): RefusalError => new RefusalError(refuse('autoscaler.credential-refused'));

/** It may scale pools of its cluster, as an operator of its namespace may. */
const identityOf = ({ address, credential }: Opened): Identity => ({
  tokenId: credential,
  actor: AUTOSCALER_ACTOR,
  roles: [{ namespace: address.namespace, role: 'operator' }],
});

/** Each call is a request of its own; its id says which certificate it came with. */
export const callerOf = (opened: Opened, signal: AbortSignal): Caller => ({
  identity: identityOf(opened),
  requestId: `autoscaler-${opened.credential}-${randomUUID()}`,
  waitMs: 0,
  commandId: undefined,
  lastEventId: undefined,
  signal,
});

/** Finds out which cluster a client certificate opens now. The log decides: a revocation holds at once. */
@Injectable()
export class AutoscalerAccess {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RequestLimits) private readonly limits: RequestLimits,
    @Inject(DiskReserve) private readonly reserve: DiskReserve,
  ) {}

  /** `certificate`: DER, signed by our authority: the TLS handshake has checked that. */
  async open(certificate: Uint8Array): Promise<Opened> {
    const { subject, publicKey } = new X509Certificate(certificate);
    const [, credential] = COMMON_NAME.exec(subject) ?? [];
    const [, namespaceText, clusterText] = ORGANIZATION.exec(subject) ?? [];
    const namespace = Namespace.safeParse(namespaceText);
    const cluster = ClusterName.safeParse(clusterText);
    if (credential === undefined || !namespace.success || !cluster.success) throw refused();
    const address = { namespace: namespace.data, cluster: cluster.data };
    const state = await this.credentialsOf(address);
    const sha256 = keySha256(publicKey.export({ type: 'spki', format: 'der' }));
    const valid = state === undefined ? [] : validCredentials(state, this.clock.now().toISOString());
    if (state === undefined || !valid.some((one) => one.id === credential && one.keySha256 === sha256)) throw refused();
    return { address, uid: state.uid, credential };
  }

  /** A certificate has the limits of a token; a change of a size counts as the request of the REST API for it. */
  admit(opened: Opened, what: 'change' | 'read'): void {
    const records = what === 'change' ? 'work' : 'nothing';
    this.limits.take(identityOf(opened), opened.address.namespace, { records, bodyBytes: 0 });
    this.reserve.check(records);
  }

  private async credentialsOf(address: ClusterAddress) {
    const stream = { ...address, context: 'audit' };
    const cause = causeOf({ identity: { tokenId: '', actor: AUTOSCALER_ACTOR, roles: [] }, requestId: randomUUID() });
    const read = await this.handle(autoscalerCredentials, stream, { type: 'ReadCredentials', data: address }, cause);
    return unwrap(read).state;
  }
}
