import type { StreamId } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';
import { AGENT_KIT } from '../bootstrap/tokens.js';
import type { AgentKit } from './agent.kit.js';

/** Under such a subject every cluster says that it is ready. */
const READY = 'evt.*.*.*.bootstrap.ClusterReady';

/**
 * When this service starts it says, once for each cluster, that its nodes shall run the agent that it has come with; the plan
 * then brings it to a few at a time. What is said already is not said again, so any replica may do this at any start.
 */
@Controller()
export class AgentUpdatesEffects implements OnApplicationBootstrap {
  private readonly log = new Logger('agent-updates');

  constructor(
    @Inject(EVENT_STORE) private readonly events: Pick<EventStore, 'read'>,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(AGENT_KIT) private readonly kit: Pick<AgentKit, 'bundle'>,
  ) {}

  /** In the background: a cluster with an older agent is no reason to wait with a new one. */
  onApplicationBootstrap(): void {
    this.wantOurAgent().catch((error: unknown) =>
      this.log.warn(`agents are not updated before the next start: ${String(error)}`),
    );
  }

  async wantOurAgent(): Promise<void> {
    const { version, sha256 } = await this.kit.bundle();
    for (const stream of await this.clusters()) {
      const id = randomUUID();
      const cause = { actor: 'system/bootstrap-svc', correlationId: id, causationId: id };
      await this.handle(bootstrap, stream, { type: 'WantAgent', data: { version, sha256 } }, cause);
    }
  }

  private async clusters(): Promise<readonly StreamId[]> {
    const ready = await this.events.read(READY, 0);
    const streams = ready.map(({ event: { meta } }) => ({
      namespace: meta.namespace,
      cluster: meta.cluster,
      context: 'bootstrap',
    }));
    return [...new Map(streams.map((stream) => [`${stream.namespace}/${stream.cluster}`, stream])).values()];
  }
}
