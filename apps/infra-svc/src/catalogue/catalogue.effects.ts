import type { ApplicationName } from '@fairlead/contracts';
import { OnTask, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import { SETTINGS } from '../tokens.js';
import { Synchronization } from './synchronization.effects.js';

export type OfApplication = { readonly application: ApplicationName; readonly dueAt?: string };

const SYNC_TIMEOUT_MS = 10 * 60_000;
const ATTEMPTS_MAX = 6;

/** Synchronizes applications. */
@Controller()
export class CatalogueEffects {
  constructor(
    @Inject(Synchronization) private readonly synchronization: Synchronization,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'catalogueIntervalMs'>,
  ) {}

  /** Six attempts take about a minute; after that, the next regular synchronization retries. */
  @OnTask('SyncApplication', {
    attemptsMax: ATTEMPTS_MAX,
    backoffFirstMs: 2_000,
    backoffMaxMs: 60_000,
    timeoutMs: SYNC_TIMEOUT_MS,
  })
  async sync({ data: { application, dueAt }, cause, signal }: TaskOf<OfApplication>): Promise<void> {
    if (!this.isOutdated(dueAt)) await this.synchronization.run(application, cause, signal);
  }

  /** After an outage of this service, a single synchronization replaces those that were due in the meantime. */
  private isOutdated(dueAt: string | undefined): boolean {
    return dueAt !== undefined && this.clock.now().getTime() - Date.parse(dueAt) >= this.settings.catalogueIntervalMs;
  }
}
