import { refuse, WorldFailure, type ClusterUid, type SecretRef } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { kubeconfigOf, sealedAdministrator } from '@fairlead/kubernetes/kubeconfig';
import { CLOCK, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { audit } from '../events/audit.decider.js';
import { orRefuse, Refused } from '../http/refused.js';

export interface KubeconfigOf {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: string;
}

export interface Kubeconfig {
  readonly text: string;
  /** Where in the log its reading is on record. */
  readonly seq: number;
}

const POLLED_EVERY_MS = 5 * 60_000;
const READERS_MAX = 10_000;

/** What comes from a host is never given out as it came: kubectl would run and read whatever is written there. */
const safeKubeconfig = (cluster: string, sealed: string): string => {
  try {
    return kubeconfigOf(cluster, sealedAdministrator(sealed, cluster));
  } catch (error) {
    if (!(error instanceof WorldFailure)) throw error;
    throw new Refused(refuse('cluster.kubeconfig-refused', { cluster, reason: error.message }));
  }
};

/** Without a part of an answer that cannot be given out safely. */
const unlessRefused = (error: unknown): undefined => {
  if (!(error instanceof Refused)) throw error;
  return undefined;
};

/** Administrator kubeconfigs; every reading is on record before it is out. */
@Injectable()
export class Kubeconfigs {
  /** When a reader was last recorded for a cluster. */
  private readonly recordedAtMs = new Map<string, number>();

  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** undefined: there is none yet. */
  async read(of: KubeconfigOf, cause: Cause): Promise<Kubeconfig | undefined> {
    const text = await this.open(of);
    return text === undefined ? undefined : { text, seq: await this.record(of, cause) };
  }

  /** As part of an answer that a client asks for again and again: on record once in five minutes for each reader and replica. */
  async polled(of: KubeconfigOf, cause: Cause): Promise<string | undefined> {
    const text = await this.open(of).catch(unlessRefused);
    if (text === undefined) return undefined;
    const nowMs = this.clock.now().getTime();
    const reader = `${cause.actor}\n${of.uid}`;
    if (nowMs - (this.recordedAtMs.get(reader) ?? -Infinity) < POLLED_EVERY_MS) return text;
    await this.record(of, cause);
    if (this.recordedAtMs.size >= READERS_MAX) this.recordedAtMs.clear();
    this.recordedAtMs.set(reader, nowMs);
    return text;
  }

  private async open({ cluster, uid }: KubeconfigOf): Promise<string | undefined> {
    const sealed = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    return sealed === undefined ? undefined : safeKubeconfig(cluster, sealed);
  }

  private async record({ namespace, cluster, uid }: KubeconfigOf, cause: Cause): Promise<number> {
    const fact = { type: 'KubeconfigRead', data: { uid: uid as ClusterUid } } as const;
    const stream = { namespace, cluster, context: 'audit' };
    return orRefuse(await this.handle(audit, stream, { type: 'Record', data: fact }, cause)).seq;
  }
}
