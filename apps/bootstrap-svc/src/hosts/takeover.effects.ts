import type { StoredEvent, StreamId } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { LogOwnership } from '@fairlead/service-kit';
import { Controller, Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';

const AGENTS_STARTED = 'evt.*.*.*.bootstrap.AgentStarted';
const TAKEN_OVER = 'evt.*.*.*.bootstrap.ClusterTakenOver';

const keyOf = ({ meta, data }: StoredEvent): string =>
  `${meta.namespace}/${meta.cluster}/${(data as { readonly uid: string }).uid}`;

/**
 * An installation that has taken over another one records it for each cluster with agents, once, before it does
 * anything else: timeouts of the cluster start again with it. The decider records it once, so any replica may do this
 * on any start.
 */
@Controller()
export class TakeOverEffects implements OnApplicationBootstrap {
  private stating: Promise<void> | undefined;

  constructor(
    @Inject(EVENT_STORE) private readonly events: Pick<EventStore, 'read'>,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(LogOwnership) private readonly ownership: Pick<LogOwnership, 'record'>,
  ) {}

  /** Nest calls this once for the HTTP part of the application and once for its transport, and waits. */
  onApplicationBootstrap(): Promise<void> {
    this.stating ??= this.stateTakeOvers();
    return this.stating;
  }

  async stateTakeOvers(): Promise<void> {
    const { record } = this.ownership;
    if (record?.state !== 'active') return;
    const { id: handover, epoch, events } = record;
    const stated = new Set(
      (await this.events.read(TAKEN_OVER, 0))
        .filter(({ event }) => event.type === 'ClusterTakenOver' && event.data.handover === handover)
        .map(({ event }) => keyOf(event)),
    );
    // Agents of later clusters were never connected elsewhere.
    const taken = new Map<string, StoredEvent>();
    for (const { event } of await this.events.read(AGENTS_STARTED, 0))
      if (event.meta.seq <= events && !stated.has(keyOf(event))) taken.set(keyOf(event), event);
    for (const { meta, data } of taken.values()) {
      const stream: StreamId = { namespace: meta.namespace, cluster: meta.cluster, context: 'bootstrap' };
      const { uid } = data as Extract<StoredEvent, { type: 'AgentStarted' }>['data'];
      const cause = { actor: 'system/bootstrap-svc', correlationId: handover, causationId: randomUUID() };
      await this.handle(bootstrap, stream, { type: 'TakeOverCluster', data: { uid, handover, epoch } }, cause);
    }
  }
}
