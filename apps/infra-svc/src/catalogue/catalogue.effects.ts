import type { ApplicationName } from '@fairlead/contracts';
import {
  OnJob,
  TASK_LEASES,
  type Job,
  type JobContext,
  type JobLater,
  type TaskLeases,
} from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import { SETTINGS } from '../tokens.js';
import { SYNC_APPLICATION } from './catalogue.process.js';
import { Synchronization } from './synchronization.effects.js';

export type OfApplication = { readonly application: ApplicationName; readonly dueAt?: string };

/** Scope of the leases on applications that are synchronized. */
const LEASES = 'catalogue';
const BUSY_AGAIN_MS = 2_000;
const SYNC_TIMEOUT_MS = 10 * 60_000;
const ATTEMPTS_MAX = 6;

/** Synchronizes applications: one job of an application at a time, over all replicas. */
@Controller()
export class CatalogueJobs {
  constructor(
    @Inject(Synchronization) private readonly synchronization: Synchronization,
    @Inject(TASK_LEASES) private readonly leases: TaskLeases,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'catalogueIntervalMs'>,
  ) {}

  /** Six attempts are about a minute; after that, the next regular synchronization tries again. */
  @OnJob<OfApplication>(SYNC_APPLICATION, {
    attemptsMax: ATTEMPTS_MAX,
    backoffFirstMs: 2_000,
    backoffMaxMs: 60_000,
    timeoutMs: SYNC_TIMEOUT_MS,
  })
  async sync({ data, cause }: Job<OfApplication>, context: JobContext): Promise<JobLater | void> {
    const { application: name, dueAt } = data;
    if (this.isOutdated(dueAt)) return undefined;
    const lease = await this.leases.acquire(LEASES, name);
    if (lease === undefined) return context.later(BUSY_AGAIN_MS, 'it is synchronized already');
    try {
      await this.synchronization.run(name, cause, AbortSignal.any([lease.signal, context.signal]));
      return undefined;
    } finally {
      await lease.release();
    }
  }

  /** After an outage of this service, one of the regular synchronizations that were due meanwhile is enough. */
  private isOutdated(dueAt: string | undefined): boolean {
    return dueAt !== undefined && this.clock.now().getTime() - Date.parse(dueAt) >= this.settings.catalogueIntervalMs;
  }
}
