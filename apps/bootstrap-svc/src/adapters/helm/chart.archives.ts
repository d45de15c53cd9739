import { eventSubject, NONE, WorldFailure, type EventData } from '@fairlead/contracts';
import {
  APPLICATIONS_FILTER,
  applicationsAfter,
  NO_APPLICATIONS,
  type RegisteredApplication,
  type RegisteredApplications,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';
import { downloadFrom, DownloadFailure, type RepositoryHttp } from '@fairlead/service-kit/http';
import { createHash } from 'node:crypto';
import type { ChartArchives } from '../../releases/releases.ports.js';

const ARCHIVE_BYTES_MAX = 8 * 1_048_576;

const addedFilter = (application: string): string =>
  eventSubject({ namespace: NONE, cluster: NONE, context: `catalogue-${application}` }, 'ApplicationVersionAdded');

const refused = (target: string, message: string): WorldFailure =>
  new WorldFailure({ operation: 'read the chart from the catalogue', target, message });

/** Archives as the catalogue recorded them: where they are, and their digests. */
export class CatalogueArchives implements ChartArchives {
  private readonly applications: LatestFold<RegisteredApplications>;

  constructor(
    private readonly store: EventStore,
    private readonly http: RepositoryHttp,
  ) {
    const fold = { filters: [APPLICATIONS_FILTER], initial: NO_APPLICATIONS, evolve: applicationsAfter };
    this.applications = new LatestFold(store, fold);
  }

  async get(application: string, version: string, signal: AbortSignal): Promise<Uint8Array> {
    const target = `${application} ${version}`;
    const registered = (await this.applications.latest()).get(application);
    if (registered === undefined) throw refused(target, `the catalogue has no application ${application}`);
    const added = await this.added(application, version);
    if (added === undefined) throw refused(target, `the catalogue has no version ${version} of ${application}`);
    const bytes = await this.download(registered, added, signal);
    const digest = createHash('sha256').update(bytes).digest('hex');
    if (digest !== added.digest)
      throw refused(target, `the archive has the SHA-256 ${digest}, and the catalogue has ${added.digest}`);
    return bytes;
  }

  /** A version that the catalogue keeps no longer can still be installed where it is declared. */
  private async added(application: string, version: string): Promise<EventData<'ApplicationVersionAdded'> | undefined> {
    const found = await this.store.read(addedFilter(application), 0);
    for (const { event } of found.toReversed())
      if (event.type === 'ApplicationVersionAdded' && event.data.version === version) return event.data;
    return undefined;
  }

  private async download(
    { repository, ca }: RegisteredApplication,
    { application, version, url }: EventData<'ApplicationVersionAdded'>,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const target = `${application} ${version}`;
    if (url === undefined)
      throw refused(target, 'the catalogue does not know where its archive is: delete the application and register it');
    try {
      return await downloadFrom(this.http, { repository, ca, url, bytesMax: ARCHIVE_BYTES_MAX }, signal);
    } catch (error) {
      if (!(error instanceof DownloadFailure)) throw error;
      throw refused(target, error.message);
    }
  }
}
