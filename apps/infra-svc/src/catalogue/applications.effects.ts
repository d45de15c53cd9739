import type { ApplicationName } from '@fairlead/contracts';
import {
  APPLICATIONS_FILTER,
  applicationsAfter,
  NO_APPLICATIONS,
  type RegisteredApplication,
  type RegisteredApplications,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';

/** The current applications of the catalogue, from the log. */
@Injectable()
export class Applications {
  private readonly fold: LatestFold<RegisteredApplications>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.fold = new LatestFold(store, {
      filters: [APPLICATIONS_FILTER],
      initial: NO_APPLICATIONS,
      evolve: applicationsAfter,
    });
  }

  async one(name: ApplicationName): Promise<RegisteredApplication | undefined> {
    return (await this.fold.latest()).get(name);
  }
}
