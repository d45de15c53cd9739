import { refuse, type ConnectionName, type Namespace, type Refusal } from '@fairlead/contracts';
import {
  hasQuota,
  mayUse,
  NO_USAGE,
  NOTHING_REGISTERED,
  quotaRefusal,
  registered,
  REGISTERED_FILTER,
  USAGE_FILTERS,
  usageAfter,
  type Registered,
  type Usage,
  type Desired,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { Tenancy } from '../validation/validation.ports.js';

/** Grants and quotas from the log: rows of the projections may be older than the request. */
@Injectable()
export class LogTenancy implements Tenancy {
  private readonly registered: LatestFold<Registered>;
  private readonly used: LatestFold<Usage>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.registered = new LatestFold(store, {
      filters: [REGISTERED_FILTER],
      initial: NOTHING_REGISTERED,
      evolve: registered,
    });
    this.used = new LatestFold(store, { filters: USAGE_FILTERS, initial: NO_USAGE, evolve: usageAfter });
  }

  async grantRefusal(connection: ConnectionName, namespace: Namespace): Promise<Refusal | undefined> {
    const found = (await this.registered.latest()).connections.get(connection);
    return found === undefined || mayUse(found, namespace)
      ? undefined
      : refuse('connection.not-granted', { connection, namespace });
  }

  async capacityRefusal(desired: Desired): Promise<Refusal | undefined> {
    const now = await this.registered.latest();
    return hasQuota(now, desired) ? quotaRefusal(now, await this.used.latest(), desired) : undefined;
  }
}
