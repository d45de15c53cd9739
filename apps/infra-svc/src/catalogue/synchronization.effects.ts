import { applicationSecretRef, ExternalFailure, type ApplicationName } from '@fairlead/contracts';
import type { RegisteredApplication } from '@fairlead/domain';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { retryOnConflict } from '../append.conflict.js';
import { CHART_REPOSITORY } from '../tokens.js';
import { Applications } from './applications.effects.js';
import { catalogue, catalogueStream, type CatalogueCommand, type CatalogueState } from './catalogue.decider.js';
import { planOf, type CataloguePlan } from './catalogue.planner.js';
import {
  CatalogueFailure,
  type ChartRepository,
  type IndexedVersion,
  type RepositoryAccess,
} from './catalogue.ports.js';

interface Sync {
  readonly name: ApplicationName;
  readonly application: RegisteredApplication;
  /** The application with the password of its repository. */
  readonly access: RepositoryAccess;
  readonly cause: Cause;
  readonly signal: AbortSignal;
}

/** Synchronizes the catalogue with a registered application, and states the changes. */
@Injectable()
export class Synchronization {
  constructor(
    @Inject(Applications) private readonly applications: Applications,
    @Inject(CHART_REPOSITORY) private readonly repository: ChartRepository,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
  ) {}

  /** Rejects with ExternalFailure if the repository does not respond. */
  async run(name: ApplicationName, cause: Cause, signal: AbortSignal): Promise<void> {
    const application = await this.applications.one(name);
    if (application !== undefined) {
      const access = await this.accessTo(name, application);
      return this.synchronize({ name, application, access, cause, signal });
    }
    await this.record(name, { type: 'ForgetApplication', data: { application: name } }, cause);
  }

  private async accessTo(name: ApplicationName, application: RegisteredApplication): Promise<RepositoryAccess> {
    const { username } = application;
    if (username === undefined) return application;
    const password = (await this.secrets.get(applicationSecretRef(name))) ?? '';
    return { ...application, credentials: { username, password } };
  }

  private async synchronize(sync: Sync): Promise<void> {
    const { name, application, access, cause, signal } = sync;
    const failures: CatalogueFailure[] = [];
    const { versions: known } = await this.record(name, { type: 'LookAtCatalogue', data: null }, cause);
    const plan = await this.repository.versions(access, signal).then(
      (indexed) => planOf(application, indexed, known),
      (error: unknown) => void failures.push(failureOf(error)),
    );
    for (const version of plan?.download ?? []) {
      // Every further download from an unresponsive repository would time out too.
      if (failures.some(isUnreachable)) break;
      await this.add(sync, version).catch((error: unknown) => void failures.push(failureOf(error)));
    }
    if (plan?.keep.length === 0) failures.push(noMatch(application, plan));
    // The results apply only to the registration with which this began.
    if ((await this.applications.one(name))?.registration !== application.registration) return;
    await this.state(sync, plan, failures);
    const unreached = failures.find(isUnreachable);
    if (unreached !== undefined)
      throw new ExternalFailure({ operation: 'synchronize application', target: name, message: unreached.message });
  }

  private async add({ name, access, cause, signal }: Sync, indexed: IndexedVersion): Promise<void> {
    signal.throwIfAborted();
    const { version, appVersion, digest, url } = indexed;
    if (digest === undefined)
      throw new CatalogueFailure('DigestMismatch', `the index has no SHA-256 of version ${version}`);
    const { schema, uiSchema } = await this.repository.schemas(access, indexed, signal);
    // A query may contain a signature, so such a URL is not stored.
    const at = new URL(url).search === '' ? { url } : {};
    const ui = uiSchema === null ? {} : { uiSchema };
    const data = { application: name, version, digest, appVersion, schema, ...ui, ...at };
    await this.record(name, { type: 'AddVersion', data }, cause);
  }

  /** Only the first of several failures is stated. */
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
    return retryOnConflict(await this.handle(catalogue, catalogueStream(name), command, cause), name).state;
  }
}

const isUnreachable = ({ reason }: CatalogueFailure): boolean => reason === 'RepositoryUnreachable';

/** Other errors are not about the repository. */
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
