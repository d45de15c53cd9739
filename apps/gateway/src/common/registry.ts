import {
  NO_USAGE,
  NOTHING_REGISTERED,
  registered,
  REGISTERED_FILTER,
  USAGE_FILTERS,
  usageAfter,
  type Registered,
  type Usage,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';

/** The namespaces and connections that there are, read from the log itself: no request is judged by an old picture. */
@Injectable()
export class Registry {
  private readonly fold: LatestFold<Registered>;
  private readonly used: LatestFold<Usage>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.fold = new LatestFold(store, {
      filters: [REGISTERED_FILTER],
      initial: NOTHING_REGISTERED,
      evolve: registered,
    });
    this.used = new LatestFold(store, { filters: USAGE_FILTERS, initial: NO_USAGE, evolve: usageAfter });
  }

  latest(): Promise<Registered> {
    return this.fold.latest();
  }

  /** What clusters take; read only where a quota is set. */
  usage(): Promise<Usage> {
    return this.used.latest();
  }
}
