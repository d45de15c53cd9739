import {
  kubernetesUserOf,
  KUBECONFIG_TTL_SECONDS,
  refuse,
  sentenceOf,
  ExternalFailure,
  type ClusterUid,
  type Oidc,
  type SecretRef,
  type StoredEvent,
} from '@fairlead/contracts';
import { latestOf } from '@fairlead/domain';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import {
  kubeconfigOf,
  oidcKubeconfigOf,
  sealedAdministrator,
  type Administrator,
} from '@fairlead/kubernetes/kubeconfig';
import { CLOCK, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import { audit } from '../events/audit.decider.js';
import { causeOf, type Caller } from '../http/caller.js';
import { LogFollower, type Patience } from '../http/log.follower.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { halfTimeOf, kubeconfigs, openRequestOf, type RequestKubeconfig } from './kubeconfigs.decider.js';

export interface KubeconfigOf {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: string;
  /** By which clients reach it; undefined: as it was recorded. */
  readonly published?: string | undefined;
}

export interface Kubeconfig {
  readonly text: string;
  /** Where in the log its reading is on record. */
  readonly seq: number;
}

type Reader = Pick<Caller, 'identity' | 'requestId'>;

const ISSUED_WITHIN_MS = 30_000;
const MS_PER_SECOND = 1_000;
const READERS_MAX = 10_000;

/** Where a kubeconfig is sealed that a client polls for, and until when it will do. */
interface Polled {
  readonly ref: SecretRef;
  readonly untilMs: number;
}

/** What comes from a host is never given out as it came: kubectl would run and read whatever is written there. */
const accepted = (cluster: string, sealed: string): Administrator => {
  try {
    return sealedAdministrator(sealed, cluster);
  } catch (error) {
    if (!(error instanceof ExternalFailure)) throw error;
    throw new RefusalError(refuse('cluster.kubeconfig-refused', { cluster, reason: error.message }));
  }
};

const reachedBy = (published: string | undefined, administrator: Administrator): Administrator =>
  published === undefined ? administrator : { ...administrator, server: published };

const endsRequest =
  (requestId: string) =>
  (event: StoredEvent): boolean =>
    ((event.type === 'KubeconfigIssued' || event.type === 'KubeconfigNotIssued') &&
      event.data.requestId === requestId) ||
    event.type === 'ClusterDeletionRequested';

/** Kubeconfigs of clusters: one for each operator, and the administrator's. Every reading is on record before it is out. */
@Injectable()
export class Kubeconfigs {
  private readonly polledOf = new LRUCache<string, Polled>({ max: READERS_MAX });

  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(LogFollower) private readonly follower: LogFollower,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** With a new certificate for the reader; refused where the cluster does not sign one in time. */
  async read(of: KubeconfigOf, reader: Reader & Pick<Caller, 'signal'>, ttlSeconds: number): Promise<Kubeconfig> {
    const { namespace, cluster } = of;
    const request = this.requestBy(of, reader, { ttlSeconds, polled: false });
    const patience = { waitMs: ISSUED_WITHIN_MS, signal: reader.signal };
    const { ended } = await this.asked(of, request, reader, patience);
    if (ended?.type === 'KubeconfigNotIssued')
      throw new RefusalError(
        refuse('cluster.kubeconfig-failed', { namespace, cluster, cause: sentenceOf(ended.data.cause) }),
      );
    const text = ended?.type === 'KubeconfigIssued' ? await this.secrets.get(ended.data.kubeconfigRef) : undefined;
    if (ended === undefined || text === undefined)
      throw new RefusalError(refuse('cluster.kubeconfig-late', { cluster, seconds: ISSUED_WITHIN_MS / MS_PER_SECOND }));
    return { text, seq: ended.meta.seq };
  }

  /** As part of an answer that a client asks for again and again: the reader's last one for half of its time; undefined: none in time. */
  async polled(of: KubeconfigOf, reader: Reader, patience: Patience): Promise<string | undefined> {
    const ttlSeconds = KUBECONFIG_TTL_SECONDS.default;
    const key = `${reader.identity.tokenId}\n${of.uid}`;
    const known = this.polledOf.get(key);
    if (known !== undefined && known.untilMs > this.clock.now().getTime()) {
      const text = await this.secrets.get(known.ref);
      if (text !== undefined) return text;
    }
    const request = this.requestBy(of, reader, { ttlSeconds, polled: true });
    const { ended, latest } = await this.asked(of, request, reader, patience);
    const issued =
      ended?.type === 'KubeconfigIssued' ? { ref: ended.data.kubeconfigRef, expiresAt: ended.data.expiresAt } : latest;
    if (issued === undefined) return undefined;
    this.polledOf.set(key, { ref: issued.ref, untilMs: Date.parse(halfTimeOf(issued, ttlSeconds)) });
    return this.secrets.get(issued.ref);
  }

  /** The administrator's, for administrators of the platform. undefined: there is none yet. */
  async administrator(
    { namespace, cluster, uid, published }: KubeconfigOf,
    reader: Reader,
  ): Promise<Kubeconfig | undefined> {
    const sealed = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    if (sealed === undefined) return undefined;
    const text = kubeconfigOf(cluster, reachedBy(published, accepted(cluster, sealed)));
    const fact = { type: 'KubeconfigRead', data: { uid: uid as ClusterUid } } as const;
    const stream = { namespace, cluster, context: 'audit' };
    const { seq } = unwrap(await this.handle(audit, stream, { type: 'Record', data: fact }, causeOf(reader)));
    return { text, seq };
  }

  /** Of users who sign in at an identity provider. There is no secret in it, so reading it is not recorded. undefined: there is none yet. */
  async ofUsers({ cluster, uid, published }: KubeconfigOf, oidc: Oidc): Promise<string | undefined> {
    const sealed = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    return sealed === undefined
      ? undefined
      : oidcKubeconfigOf(cluster, reachedBy(published, accepted(cluster, sealed)), oidc);
  }

  private requestBy(
    { namespace, cluster, uid }: KubeconfigOf,
    { identity }: Reader,
    how: Pick<RequestKubeconfig['data'], 'ttlSeconds' | 'polled'>,
  ): RequestKubeconfig['data'] {
    const user = kubernetesUserOf(identity.tokenId);
    return { namespace, cluster, uid, requestId: randomUUID(), user, now: this.clock.now().toISOString(), ...how };
  }

  /** How the request ended, where it did in time, and what the reader had before. */
  private async asked(
    { namespace, cluster }: KubeconfigOf,
    data: RequestKubeconfig['data'],
    reader: Reader,
    patience: Patience,
  ) {
    const stream = { namespace, cluster, context: 'audit' };
    const command: RequestKubeconfig = { type: 'RequestKubeconfig', data };
    const decided = unwrap(await this.handle(kubeconfigs, stream, command, causeOf(reader)));
    const state = decided.state.kubeconfigs;
    const open = openRequestOf(state, data);
    const latest = state === undefined ? undefined : latestOf(state, data.user);
    if (open === undefined) return { ended: undefined, latest };
    const awaited = { namespace, cluster, afterSeq: open.seq, isOver: endsRequest(open.requestId) };
    return { ended: await this.follower.wait(awaited, patience), latest };
  }
}
