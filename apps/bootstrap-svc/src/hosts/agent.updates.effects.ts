import { wordsOf, type StreamId } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import {
  Controller,
  Inject,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';
import { AGENT_KIT } from '../bootstrap/tokens.js';
import type { AgentKit } from './agent.kit.js';

/** Under such a subject every cluster says that it is ready. */
const READY = 'evt.*.*.*.bootstrap.ClusterReady';
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;

/**
 * When this service starts it says, once for each cluster, that its nodes must run the agent that it has come with; the plan
 * then brings it to a few at a time. What is said already is not said again, so any replica may do this at any start.
 */
@Controller()
export class AgentUpdatesEffects implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger('agent-updates');
  private readonly stopping = new AbortController();
  private saying: Promise<void> | undefined;

  constructor(
    @Inject(EVENT_STORE) private readonly events: Pick<EventStore, 'read'>,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(AGENT_KIT) private readonly kit: Pick<AgentKit, 'bundle'>,
  ) {}

  /** In the background: a cluster with an older agent is no reason to wait with a new one. */
  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    this.saying ??= this.untilSaid();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.saying;
  }

  /** The log may be away just then; it is said as soon as it is back. */
  private async untilSaid(): Promise<void> {
    for (let tries = 0; !this.stopping.signal.aborted; tries += 1) {
      try {
        return await this.wantOurAgent();
      } catch (error) {
        this.log.warn(`agents are not updated yet: ${wordsOf(error)}; trying again`);
      }
      const delayMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(tries, 10), RETRY_MAX_MS);
      await sleep(delayMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
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
