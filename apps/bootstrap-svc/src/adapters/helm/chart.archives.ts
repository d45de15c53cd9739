import { applicationSecretRef, eventSubject, NONE, ExternalFailure, type EventData } from '@fairlead/contracts';
import {
  APPLICATIONS_FILTER,
  applicationsAfter,
  NO_APPLICATIONS,
  type RegisteredApplication,
  type RegisteredApplications,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';
import type { SecretStore } from '@fairlead/service-kit';
import { ChartFailure, Charts, type ChartAt, type IndexedVersion } from '@fairlead/service-kit/charts';
import type { RepositoryHttp } from '@fairlead/service-kit/http';
import type { ChartArchives, NamedChart } from '../../releases/releases.ports.js';

const addedFilter = (application: string): string =>
  eventSubject({ namespace: NONE, cluster: NONE, context: `catalogue-${application}` }, 'ApplicationVersionAdded');

const refused = (operation: string, target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation, target, message });

const FROM_CATALOGUE = 'read the chart from the catalogue';
const FROM_REPOSITORY = 'download the chart';

/** Chart archives: recorded in the catalogue, downloaded from repositories. */
export class DownloadedArchives implements ChartArchives {
  private readonly applications: LatestFold<RegisteredApplications>;
  private readonly charts: Charts;

  constructor(
    private readonly store: EventStore,
    private readonly secrets: Pick<SecretStore, 'get'>,
    http: RepositoryHttp,
  ) {
    const fold = { filters: [APPLICATIONS_FILTER], initial: NO_APPLICATIONS, evolve: applicationsAfter };
    this.applications = new LatestFold(store, fold);
    this.charts = new Charts(http);
  }

  async ofApplication(application: string, version: string, signal: AbortSignal): Promise<Uint8Array> {
    const target = `${application} ${version}`;
    const registered = (await this.applications.latest()).get(application);
    if (registered === undefined)
      throw refused(FROM_CATALOGUE, target, `the catalogue has no application ${application}`);
    const added = await this.added(application, version);
    if (added === undefined)
      throw refused(FROM_CATALOGUE, target, `the catalogue has no version ${version} of ${application}`);
    const { url, digest, appVersion } = added;
    if (url === undefined) {
      const why = 'the catalogue does not know where its archive is: delete the application and register it';
      throw refused(FROM_CATALOGUE, target, why);
    }
    const indexed = { version, digest, appVersion, deprecated: false, url };
    const at = await this.accessTo(application, registered);
    return this.archive({ operation: FROM_CATALOGUE, target }, () => this.charts.archive(at, indexed, signal));
  }

  async ofRepository({ name: chart, version, ...others }: NamedChart, signal: AbortSignal): Promise<Uint8Array> {
    const at: ChartAt = { ...others, chart };
    const what = { operation: FROM_REPOSITORY, target: `${chart} ${version}` };
    return this.archive(what, async () => {
      const found = await this.charts.versions(at, (versions) => versions.filter((one) => one === version), signal);
      return this.charts.archive(at, theOne(found, at, version), signal);
    });
  }

  private async archive(
    { operation, target }: { readonly operation: string; readonly target: string },
    work: () => Promise<Buffer>,
  ): Promise<Buffer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChartFailure)) throw error;
      throw refused(operation, target, error.message);
    }
  }

  private async accessTo(name: string, application: RegisteredApplication): Promise<ChartAt> {
    const { username } = application;
    if (username === undefined) return application;
    const password = (await this.secrets.get(applicationSecretRef(name))) ?? '';
    return { ...application, credentials: { username, password } };
  }

  /** A version that the catalogue no longer has can still be installed where it is declared. */
  private async added(application: string, version: string): Promise<EventData<'ApplicationVersionAdded'> | undefined> {
    const found = await this.store.read(addedFilter(application), 0);
    for (const { event } of found.toReversed())
      if (event.type === 'ApplicationVersionAdded' && event.data.version === version) return event.data;
    return undefined;
  }
}

const theOne = (found: readonly IndexedVersion[], { repository, chart }: ChartAt, version: string): IndexedVersion => {
  const indexed = found.find((one) => one.version === version);
  if (indexed !== undefined) return indexed;
  throw new ChartFailure('NoMatchingVersion', `${repository} has no version ${version} of ${chart}`);
};
