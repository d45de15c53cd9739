import { ExternalFailure, type ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { TASK_LEASES, type Lease, type TaskLeases } from '@fairlead/event-sourcing/jetstream';
import { inTime } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import type { Settings } from '../config.js';
import type { Connection, OpenConnection } from '../providers/provider.ports.js';
import { SETTINGS } from '../tokens.js';
import { Coalesced } from './coalesced.effects.js';
import { ResourceSteps } from './resource.steps.effects.js';
import { networkOf } from './resources.planner.js';
import type { SharedResources, SharedInfrastructure } from './resources.ports.js';
import { ResourcesQueries } from './resources.queries.js';
import { surroundingsOf, type Surroundings } from './surroundings.planner.js';

/** Scope of the leases on connections; that of a cluster contains a slash. */
const LEASES = 'resources';

/**
 * Clusters that are created together on one connection wait for one round of its steps, whose result is cached for a
 * while; then the provider is queried again, because resources may have been deleted there.
 */
@Injectable()
export class ConnectionResources implements SharedResources {
  private readonly infrastructure: Coalesced<SharedInfrastructure>;
  private readonly specs: Coalesced<{ readonly spec: string }>;

  constructor(
    @Inject(ResourceSteps) private readonly steps: ResourceSteps,
    @Inject(ResourcesQueries) private readonly queries: ResourcesQueries,
    @Inject(TASK_LEASES) private readonly leases: TaskLeases,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.infrastructure = new Coalesced(settings.resourcesFreshForMs);
    this.specs = new Coalesced(settings.resourcesFreshForMs);
  }

  async ensure(open: OpenConnection, specs: readonly string[], cause: Cause): Promise<SharedInfrastructure> {
    const { registration } = open.connection;
    const infrastructure = await this.currentInfrastructure(open, cause);
    for (const spec of new Set(specs)) {
      await this.specs.get(`${registration}/${spec}`, async () => {
        await this.inTime((late) => this.steps.spec(open, spec, cause, late));
        return { spec };
      });
    }
    return infrastructure;
  }

  async surroundings(connection: Connection): Promise<Surroundings> {
    const row = await this.queries.of(connection.name);
    const cidr = row?.network?.cidr ?? networkOf(connection).cidr;
    return surroundingsOf(connection, cidr, this.settings.agentNatsUrls);
  }

  /** One replica at a time, because the SSH key is generated and must be unique. */
  async alone<Result>(connection: ConnectionName, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const lease = await this.lease(connection);
    try {
      return await this.inTime((late) => work(AbortSignal.any([lease.signal, late])));
    } finally {
      await lease.release();
    }
  }

  /** The cached result may contain an SSH key that was rotated since. */
  private async currentInfrastructure(open: OpenConnection, cause: Cause): Promise<SharedInfrastructure> {
    const { registration, name } = open.connection;
    const ask = (): Promise<SharedInfrastructure> =>
      this.alone(name, (signal) => this.steps.ensureAll(open, cause, signal));
    const remembered = await this.infrastructure.get(registration, ask);
    return (await this.steps.isCurrent(name, remembered.keyRef))
      ? remembered
      : this.infrastructure.renew(registration, ask);
  }

  private async lease(connection: ConnectionName): Promise<Lease> {
    const { resourcesTimeoutMs, resourcesPollMs } = this.settings;
    const until = performance.now() + resourcesTimeoutMs;
    for (;;) {
      const lease = await this.leases.acquire(LEASES, connection);
      if (lease !== undefined) return lease;
      if (performance.now() >= until) {
        const message = `another replica has been at it for more than ${resourcesTimeoutMs} ms`;
        throw new ExternalFailure({ operation: 'ensure network', target: connection, message });
      }
      await pause(resourcesPollMs);
    }
  }

  /** With a timeout instead of a caller's signal, because all waiting callers share the result. */
  private inTime<Result>(work: (late: AbortSignal) => Promise<Result>): Promise<Result> {
    return inTime(this.settings.resourcesTimeoutMs, work);
  }
}
