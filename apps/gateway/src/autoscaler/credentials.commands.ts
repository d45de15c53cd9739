import {
  AUTOSCALER_TTL_DAYS,
  refuse,
  validCredentials,
  type AutoscalerCredential,
  type AutoscalerCredentialRequest,
  type AutoscalerCredentialView,
  type SignedAutoscalerCredentialView,
} from '@fairlead/contracts';
import { certificateIn, clientKeyOf, issueClient } from '@fairlead/embedded/credentials';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { ClusterAddress } from '../common/cluster.address.js';
import { causeOf, type Caller } from '../http/caller.js';
import { clusterUnknown } from '../http/command.answers.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { subjectOf } from './autoscaler.access.js';
import { AutoscalerAuthority } from './autoscaler.authority.js';
import { AutoscalerServer } from './autoscaler.server.js';
import { autoscalerCredentials } from './credentials.decider.js';

const ID_BYTES = 8;
const DAY_MS = 24 * 60 * 60 * 1000;

const viewOf = ({ id, keySha256, issuedAt, expiresAt }: AutoscalerCredential): AutoscalerCredentialView => ({
  id,
  kind: 'AutoscalerCredential',
  keySha256,
  createdTime: issuedAt,
  expiresAt,
});

/** Signs client certificates for autoscalers, and revokes them. */
@Injectable()
export class AutoscalerCredentials {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(AutoscalerAuthority) private readonly authority: AutoscalerAuthority,
    @Inject(AutoscalerServer) private readonly server: AutoscalerServer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** On record before it opens anything. A repetition under a key signs the recorded key again. */
  async issue(
    address: ClusterAddress,
    { csr, ttlDays = AUTOSCALER_TTL_DAYS.default }: AutoscalerCredentialRequest,
    caller: Caller,
  ): Promise<{ readonly view: SignedAutoscalerCredentialView; readonly seq: number }> {
    const { address: serverAddress } = this.server;
    if (serverAddress === undefined) throw new RefusalError(refuse('autoscaler.not-served'));
    const key = await clientKeyOf(csr);
    if ('reason' in key) throw new RefusalError(refuse('autoscaler.csr-invalid', { reason: key.reason }, 'csr'));
    const now = this.clock.now();
    const data = {
      ...address,
      credential: randomBytes(ID_BYTES).toString('hex'),
      keySha256: key.sha256,
      now: now.toISOString(),
      expiresAt: new Date(now.getTime() + ttlDays * DAY_MS).toISOString(),
    };
    const { events, seq } = unwrap(
      await this.handle(autoscalerCredentials, streamOf(address), { type: 'IssueCredential', data }, causeOf(caller)),
    );
    const [recorded] = events;
    if (recorded?.type !== 'AutoscalerCredentialIssued') throw new Error('no credential was recorded');
    const { id, keySha256, expiresAt } = recorded.data;
    const pair = await this.authority.pair();
    const certificate = await issueClient(pair, key, {
      ...subjectOf(address, id),
      notAfter: new Date(expiresAt),
      now,
    });
    const issued = viewOf({ id, keySha256, issuedAt: recorded.meta.time, expiresAt });
    return { view: { ...issued, certificate, caCertificate: certificateIn(pair), address: serverAddress }, seq };
  }

  async revoke(address: ClusterAddress, credential: string, caller: Caller): Promise<number> {
    const command = { type: 'RevokeCredential', data: { ...address, credential } } as const;
    return unwrap(await this.handle(autoscalerCredentials, streamOf(address), command, causeOf(caller))).seq;
  }

  /** Those that are valid, in the order in which they were issued. */
  async list(address: ClusterAddress, { identity, requestId }: Caller): Promise<readonly AutoscalerCredentialView[]> {
    const command = { type: 'ReadCredentials', data: address } as const;
    const cause = causeOf({ identity, requestId });
    const { state } = unwrap(await this.handle(autoscalerCredentials, streamOf(address), command, cause));
    if (state === undefined) throw new RefusalError(clusterUnknown(address));
    return validCredentials(state, this.clock.now().toISOString()).map(viewOf);
  }
}

const streamOf = (address: ClusterAddress) => ({ ...address, context: 'audit' });
