import { isRefusal, WorldFailure, type ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import type { Offers, SharedResources, SharedThings } from '../resources/resources.ports.js';
import { CONNECTIONS, OFFERS, SHARED_RESOURCES } from '../tokens.js';
import { zonesOf } from '../validation/validation.planner.js';
import type { ZonesOf } from './machines.planner.js';

/** A connection on which machines can be made. */
export interface Site {
  readonly open: OpenConnection;
  readonly things: SharedThings;
}

export interface Sites {
  readonly all: readonly Site[];
  readonly zones: ZonesOf;
}

/** Opens connections, and ensures what the machines on them stand on. */
@Injectable()
export class SiteSurvey {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(OFFERS) private readonly offers: Offers,
    @Inject(SHARED_RESOURCES) private readonly resources: SharedResources,
  ) {}

  /** The site of every connection that the machines are on. */
  async of(
    machines: readonly { readonly connection: ConnectionName; readonly spec: string }[],
    cause: Cause,
  ): Promise<Sites> {
    const all: Site[] = [];
    const zones = new Map<ConnectionName, readonly string[]>();
    for (const name of new Set(machines.map(({ connection }) => connection))) {
      const open = await this.open(name);
      const specs = machines.filter(({ connection }) => connection === name).map(({ spec }) => spec);
      all.push({ open, things: await this.resources.ensure(open, specs, cause) });
      const { region } = await this.offers.of(open, cause);
      zones.set(name, region === undefined ? [] : (zonesOf(open.connection, region) ?? []));
    }
    return { all, zones: (name) => zones.get(name) ?? [] };
  }

  async open(name: ConnectionName): Promise<OpenConnection> {
    const open = await this.connections.open(name);
    if (!isRefusal(open)) return open;
    throw new WorldFailure({ operation: 'verify connection', target: name, message: open.message, retryable: false });
  }
}
