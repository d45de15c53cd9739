import { Heartbeat, heartbeatSubject, STREAMS, WorldFailure, wordsOf } from '@fairlead/contracts';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { LastHeartbeat, NodeHeartbeats } from '../../preflight/preflight.ports.js';

/** The last heartbeat that NATS has. The node's clock follows from the time that it bears and the time at which NATS had it; the way between them is short. */
export class NatsHeartbeats implements NodeHeartbeats {
  private manager: Promise<JetStreamManager> | undefined;

  constructor(private readonly nc: NatsConnection) {}

  async last({
    namespace,
    cluster,
    node,
  }: {
    readonly namespace: string;
    readonly cluster: string;
    readonly node: string;
  }): Promise<LastHeartbeat | null> {
    const subject = heartbeatSubject(namespace, cluster, node);
    try {
      this.manager ??= jetstreamManager(this.nc, { checkAPI: false });
      const message = await (await this.manager).direct.getMessage(STREAMS.heartbeats, { last_by_subj: subject });
      const heartbeat = message === null ? undefined : Heartbeat.safeParse(message.json()).data;
      if (message === null || heartbeat === undefined) return null;
      return { skewMs: Date.parse(heartbeat.at) - message.time.getTime(), source: heartbeat.source ?? null };
    } catch (error) {
      this.manager = undefined;
      const message = wordsOf(error);
      throw new WorldFailure({ operation: 'read the last heartbeat', target: node, message, cause: error });
    }
  }
}
