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

/** Subjects of ClusterReady. */
const READY = 'evt.*.*.*.bootstrap.ClusterReady';
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;

/**
 * On start, requests once per cluster that the nodes run this service's agent; the plan then updates a few at a time.
 * The decider records a request once, so any replica may do this on any start.
 */
@Controller()
export class AgentUpdatesEffects implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger('agent-updates');
  private readonly stopping = new AbortController();
  private requesting: Promise<void> | undefined;

  constructor(
    @Inject(EVENT_STORE) private readonly events: Pick<EventStore, 'read'>,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(AGENT_KIT) private readonly kit: Pick<AgentKit, 'bundle'>,
  ) {}

  /** In the background: clusters with an older agent must not delay the start. */
  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    this.requesting ??= this.untilRequested();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.requesting;
  }

  /** The log may be unavailable at this time: retried until it answers, or the service stops. */
  private async untilRequested(): Promise<void> {
    for (let tries = 0; !this.stopping.signal.aborted; tries += 1) {
      try {
        return await this.requestUpdates();
      } catch (error) {
        this.log.warn(`agents are not updated yet: ${wordsOf(error)}; trying again`);
      }
      const delayMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(tries, 10), RETRY_MAX_MS);
      await sleep(delayMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  async requestUpdates(): Promise<void> {
    const { version, sha256 } = await this.kit.bundle();
    for (const stream of await this.clusters()) {
      const id = randomUUID();
      const cause = { actor: 'system/bootstrap-svc', correlationId: id, causationId: id };
      await this.handle(bootstrap, stream, { type: 'RequestAgentUpdate', data: { version, sha256 } }, cause);
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
