import type { ClusterUid, ConnectionName, SshKeyGeneration } from '@fairlead/contracts';
import type { Cause, EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, LatestFold, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { machines } from '../machines/machines.decider.js';
import { retryOnConflict } from '../append.conflict.js';
import { progressOf, ROTATION_HOSTS, type Progress, type RotationHosts } from './rotation.hosts.js';

/** A rotation that is replacing keys. */
export interface Rotating {
  readonly connection: ConnectionName;
  readonly key: SshKeyGeneration;
  readonly former: SshKeyGeneration;
  /** The position in the log at which the key became current. */
  readonly since: number;
}

const publicOf = ({ keyRef, publicKey }: SshKeyGeneration) => ({ keyRef, publicKey });

/** The hosts whose key must be replaced. bootstrap-svc replaces it, and reads only streams of clusters. */
@Injectable()
export class HostsOfRotation {
  private readonly hosts: LatestFold<RotationHosts>;

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(HANDLE) private readonly handle: Handle,
  ) {
    this.hosts = new LatestFold(store, ROTATION_HOSTS);
  }

  async progress({ connection, former, since }: Rotating): Promise<Progress> {
    return progressOf(await this.hosts.latest(), { connection, former: former.keyRef, since });
  }

  /** Requests the replacement once per cluster. */
  async request(
    { connection, key, former }: Rotating,
    { pending }: Progress,
    { cause, signal }: { readonly cause: Cause; readonly signal: AbortSignal },
  ): Promise<void> {
    const clusters = new Map(pending.map((host) => [host.uid, host]));
    for (const [uid, { namespace, cluster }] of clusters) {
      signal.throwIfAborted();
      const data = { uid: uid as ClusterUid, connection, ...publicOf(key), former: publicOf(former) };
      const stream = { namespace, cluster, context: 'machines' };
      retryOnConflict(await this.handle(machines, stream, { type: 'RequestSshKeyReplacement', data }, cause), cluster);
    }
  }
}
