import { WorldFailure, type ApplicationName, type RegisteredApplication } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import {
  HANDLE,
  OnJob,
  TASK_LEASES,
  type Handle,
  type Job,
  type JobContext,
  type JobLater,
  type TaskLeases,
} from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import { orRetry } from '../outcome.effects.js';
import { CHART_REPOSITORY, SETTINGS } from '../tokens.js';
import { Applications } from './applications.effects.js';
import { catalogue, catalogueStream, type CatalogueCommand, type CatalogueState } from './catalogue.decider.js';
import { planOf, type CataloguePlan } from './catalogue.planner.js';
import { CatalogueFailure, type ChartRepository, type IndexedVersion } from './catalogue.ports.js';
import { SYNC_APPLICATION } from './catalogue.process.js';

export type OfApplication = { readonly application: ApplicationName; readonly dueAt?: string };

/** Scope of the leases on applications that are synchronized. */
const LEASES = 'catalogue';
const BUSY_AGAIN_MS = 2_000;
const SYNC_TIMEOUT_MS = 10 * 60_000;
const ATTEMPTS_MAX = 6;

interface Sync {
  readonly name: ApplicationName;
  readonly application: RegisteredApplication;
  readonly cause: Cause;
  readonly signal: AbortSignal;
}

/** Makes the catalogue have of an application what was registered. */
@Controller()
export class CatalogueJobs {
  constructor(
    @Inject(Applications) private readonly applications: Applications,
    @Inject(CHART_REPOSITORY) private readonly repository: ChartRepository,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(TASK_LEASES) private readonly leases: TaskLeases,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'catalogueIntervalMs'>,
  ) {}

  /** Six attempts are about five minutes; after that, the next regular synchronization tries again. */
  @OnJob<OfApplication>(SYNC_APPLICATION, {
    attemptsMax: ATTEMPTS_MAX,
    backoffFirstMs: 2_000,
    backoffMaxMs: 120_000,
    timeoutMs: SYNC_TIMEOUT_MS,
  })
  async sync({ data, cause }: Job<OfApplication>, context: JobContext): Promise<JobLater | void> {
    const { application: name, dueAt } = data;
    if (this.isOutdated(dueAt)) return undefined;
    const lease = await this.leases.acquire(LEASES, name);
    if (lease === undefined) return context.later(BUSY_AGAIN_MS, 'it is synchronized already');
    try {
      const application = await this.applications.one(name);
      if (application === undefined) {
        await this.record(name, { type: 'ForgetApplication', data: { application: name } }, cause);
        return undefined;
      }
      await this.synchronize({ name, application, cause, signal: AbortSignal.any([lease.signal, context.signal]) });
    } finally {
      await lease.release();
    }
  }

  /** After an outage of this service, one of the regular synchronizations that were due meanwhile is enough. */
  private isOutdated(dueAt: string | undefined): boolean {
    return dueAt !== undefined && this.clock.now().getTime() - Date.parse(dueAt) >= this.settings.catalogueIntervalMs;
  }

  private async synchronize(sync: Sync): Promise<void> {
    const { name, application, cause, signal } = sync;
    const failures: CatalogueFailure[] = [];
    const { versions: known } = await this.record(name, { type: 'LookAtCatalogue', data: null }, cause);
    const plan = await this.repository.versions(application, signal).then(
      (indexed) => planOf(application, indexed, known),
      (error: unknown) => void failures.push(failureOf(error)),
    );
    for (const version of plan?.download ?? []) {
      // A repository that does not answer has taken its time once.
      if (failures.some(isUnreachable)) break;
      await this.add(sync, version).catch((error: unknown) => void failures.push(failureOf(error)));
    }
    if (plan?.keep.length === 0) failures.push(noMatch(application, plan));
    // What was found belongs to the application as it was registered when this began.
    if ((await this.applications.one(name))?.registration !== application.registration) return;
    await this.state(sync, plan, failures);
    const unreached = failures.find(isUnreachable);
    if (unreached !== undefined)
      throw new WorldFailure({ operation: 'synchronize application', target: name, message: unreached.message });
  }

  private async add({ name, application, cause, signal }: Sync, indexed: IndexedVersion): Promise<void> {
    signal.throwIfAborted();
    const { version, appVersion, digest } = indexed;
    if (digest === undefined)
      throw new CatalogueFailure('DigestMismatch', `the index has no SHA-256 of version ${version}`);
    const schema = await this.repository.schema(application, indexed, signal);
    const data = { application: name, version, digest, appVersion, schema };
    await this.record(name, { type: 'AddVersion', data }, cause);
  }

  /** Of several failures the first is stated. */
  private async state(
    { name, application, cause }: Sync,
    plan: CataloguePlan | void,
    [first, ...others]: readonly CatalogueFailure[],
  ): Promise<void> {
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    const problem = first && { reason: first.reason, message: `${first.message}${more}` };
    const { registration } = application;
    const keep = (plan?.keep ?? []).map(({ version }) => version);
    const data = { application: name, registration, remove: plan?.remove ?? [], keep, problem };
    await this.record(name, { type: 'RecordSync', data }, cause);
  }

  private async record(name: ApplicationName, command: CatalogueCommand, cause: Cause): Promise<CatalogueState> {
    return orRetry(await this.handle(catalogue, catalogueStream(name), command, cause), name).state;
  }
}

const isUnreachable = ({ reason }: CatalogueFailure): boolean => reason === 'RepositoryUnreachable';

/** Everything else is no statement about the repository. */
const failureOf = (error: unknown): CatalogueFailure => {
  if (error instanceof CatalogueFailure) return error;
  throw error;
};

const noMatch = ({ repository, chart, range }: RegisteredApplication, { others }: CataloguePlan): CatalogueFailure => {
  const has = others.length === 0 ? 'none at all' : others.join(', ');
  return new CatalogueFailure(
    'NoMatchingVersion',
    `${repository} has no version of ${chart} in ${range}; the newest that it has: ${has}`,
  );
};
