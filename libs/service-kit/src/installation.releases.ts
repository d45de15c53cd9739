import { NO_OWN_RELEASES, ownReleasesAfter, RELEASES_FILTER, type OwnReleases } from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';

/**
 * The Kubernetes releases of this installation beyond the built-in ones, read from the log itself, so that no decision
 * uses stale data.
 */
@Injectable()
export class InstallationReleases {
  private readonly fold: LatestFold<OwnReleases>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.fold = new LatestFold(store, {
      filters: [RELEASES_FILTER],
      initial: NO_OWN_RELEASES,
      evolve: ownReleasesAfter,
    });
  }

  latest(): Promise<OwnReleases> {
    return this.fold.latest();
  }
}
