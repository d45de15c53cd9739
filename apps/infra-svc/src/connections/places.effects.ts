import { wordsOf, type ConnectionName } from '@fairlead/contracts';
import { WAIT_SHOWN_AFTER_MS, type GroupWait, type TasksProgress } from '@fairlead/event-sourcing/jetstream';
import type { Clock } from '@fairlead/service-kit';
import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { ResourcesLog } from '../resources/resources.log.effects.js';
import { connectionOfGroup } from './connection.group.js';

/**
 * A statement is valid for as long as the wait has lasted so far, within these limits, so that a wait of hours yields
 * few events.
 */
const HOLDS_MIN_MS = 2 * 60_000;
const HOLDS_MAX_MS = 10 * 60_000;

export interface PlacesWorld {
  readonly progress: Pick<TasksProgress, 'onGroupWaits' | 'groupWaits'>;
  readonly log: Pick<ResourcesLog, 'record'>;
  readonly clock: Clock;
}

interface Watched {
  timer: NodeJS.Timeout;
  isStated: boolean;
}

const before = (now: Date, ms: number): string => new Date(now.getTime() - ms).toISOString();

/**
 * States the connections whose slots are all in use while tasks wait for one, so that the affected clusters show the
 * reason. The task queue reports when a wait begins and ends. If a replica ends in between, its statement expires.
 */
export class ConnectionPlaces implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('places');
  private readonly watched = new Map<ConnectionName, Watched>();
  /** Statements are sequential. */
  private stating: Promise<void> = Promise.resolve();
  private isStopping = false;

  constructor(private readonly world: PlacesWorld) {}

  onApplicationBootstrap(): void {
    this.world.progress.onGroupWaits(() => this.changed());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const { timer } of this.watched.values()) clearTimeout(timer);
    await this.stating;
  }

  private changed(): void {
    if (this.isStopping) return;
    const waited = new Set(this.world.progress.groupWaits().flatMap(({ group }) => connectionOfGroup(group) ?? []));
    for (const connection of waited)
      if (!this.watched.has(connection))
        this.watched.set(connection, { timer: this.lookIn(connection, WAIT_SHOWN_AFTER_MS), isStated: false });
    for (const [connection, { timer, isStated }] of this.watched) {
      if (waited.has(connection)) continue;
      clearTimeout(timer);
      this.watched.delete(connection);
      if (isStated) this.say(() => this.world.log.record({ type: 'ConnectionFree', data: { connection } }, cause()));
    }
  }

  private lookIn(connection: ConnectionName, ms: number): NodeJS.Timeout {
    return setTimeout(() => this.state(connection), ms);
  }

  private state(connection: ConnectionName): void {
    const watched = this.watched.get(connection);
    const wait = this.world.progress.groupWaits().find(({ group }) => connectionOfGroup(group) === connection);
    if (watched === undefined || wait === undefined) return;
    const holdsMs = Math.min(Math.max(wait.waitedMs, HOLDS_MIN_MS), HOLDS_MAX_MS);
    watched.timer = this.lookIn(connection, holdsMs / 2);
    watched.isStated = true;
    this.say(() => this.record(connection, wait, holdsMs));
  }

  private async record(connection: ConnectionName, wait: GroupWait, holdsMs: number): Promise<void> {
    const now = this.world.clock.now();
    const { count: tasks, places, waitedMs, longest } = wait;
    const data = {
      ...{ connection, tasks, places },
      since: before(now, waitedMs),
      takenSince: before(now, longest?.takenMs ?? waitedMs),
      until: before(now, -holdsMs),
    };
    await this.world.log.record({ type: 'ConnectionBusy', data }, cause());
  }

  /** A statement that failed is repeated with the next change. */
  private say(record: () => Promise<void>): void {
    this.stating = this.stating
      .then(record)
      .catch((error: unknown) => this.logger.warn(`what waits for a connection was not stated: ${wordsOf(error)}`));
  }
}

const cause = () => {
  const id = randomUUID();
  return { actor: 'system/infra-svc', correlationId: id, causationId: id };
};
