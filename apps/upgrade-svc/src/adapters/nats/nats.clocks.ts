import { Heartbeat, heartbeatSubject, STREAMS, WorldFailure, wordsOf } from '@fairlead/contracts';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { NodeClocks } from '../../preflight/preflight.ports.js';

/** A node's clock, by the time that its last heartbeat bears and the time at which NATS had it; the way between them is short. */
export class NatsClocks implements NodeClocks {
  private manager: Promise<JetStreamManager> | undefined;

  constructor(private readonly nc: NatsConnection) {}

  async skewMs({
    namespace,
    cluster,
    node,
  }: {
    readonly namespace: string;
    readonly cluster: string;
    readonly node: string;
  }): Promise<number | null> {
    const subject = heartbeatSubject(namespace, cluster, node);
    try {
      this.manager ??= jetstreamManager(this.nc, { checkAPI: false });
      const message = await (await this.manager).direct.getMessage(STREAMS.heartbeats, { last_by_subj: subject });
      const heartbeat = message === null ? undefined : Heartbeat.safeParse(message.json()).data;
      return message === null || heartbeat === undefined ? null : Date.parse(heartbeat.at) - message.time.getTime();
    } catch (error) {
      this.manager = undefined;
      const message = wordsOf(error);
      throw new WorldFailure({ operation: 'read the last heartbeat', target: node, message, cause: error });
    }
  }
}
