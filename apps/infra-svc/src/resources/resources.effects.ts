import { WorldFailure } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { inTime } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config.js';
import type { Locks } from '../locks/locks.ports.js';
import type { Connection, OpenConnection } from '../providers/provider.ports.js';
import { CONFIG, LOCKS } from '../tokens.js';
import { Coalesced } from './coalesced.effects.js';
import { ResourceSteps } from './resource.steps.effects.js';
import { networkOf } from './resources.planner.js';
import type { SharedResources, SharedThings } from './resources.ports.js';
import { ResourcesQueries } from './resources.queries.js';

/**
 * Clusters that are made together on one connection wait for one round of its steps, and what it found is good for a while;
 * then the provider is asked again, because someone may have deleted something there.
 */
@Injectable()
export class ConnectionResources implements SharedResources {
  private readonly things: Coalesced<SharedThings>;
  private readonly specs: Coalesced<{ readonly spec: string }>;

  constructor(
    @Inject(ResourceSteps) private readonly steps: ResourceSteps,
    @Inject(ResourcesQueries) private readonly queries: ResourcesQueries,
    @Inject(LOCKS) private readonly locks: Locks,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.things = new Coalesced(config.resourcesFreshForMs);
    this.specs = new Coalesced(config.resourcesFreshForMs);
  }

  async ensure(open: OpenConnection, specs: readonly string[], cause: Cause): Promise<SharedThings> {
    const { registration } = open.connection;
    const things = await this.things.get(registration, () => this.ensureAlone(open, cause));
    for (const spec of new Set(specs)) {
      await this.specs.get(`${registration}/${spec}`, async () => {
        await this.inTime((late) => this.steps.spec(open, spec, cause, late));
        return { spec };
      });
    }
    return things;
  }

  async networkCidr(connection: Connection): Promise<string> {
    const row = await this.queries.of(connection.name);
    return row?.network?.cidr ?? networkOf(connection).cidr;
  }

  /** One replica at a time, because the SSH key is drawn, and must be drawn once. */
  private async ensureAlone(open: OpenConnection, cause: Cause): Promise<SharedThings> {
    const { name } = open.connection;
    const { resourcesTimeoutMs } = this.config;
    const held = await this.locks.hold(`resources/${name}`, resourcesTimeoutMs, (signal) =>
      this.inTime((late) => this.steps.ensureAll(open, cause, AbortSignal.any([signal, late]))),
    );
    if (held.kind === 'held') return held.result;
    const message = `another replica has been at it for more than ${resourcesTimeoutMs} ms`;
    throw new WorldFailure({ operation: 'ensure network', target: name, message });
  }

  /** No one's own signal: the answer belongs to all who wait for it. */
  private inTime<Result>(work: (late: AbortSignal) => Promise<Result>): Promise<Result> {
    return inTime(this.config.resourcesTimeoutMs, work);
  }
}
