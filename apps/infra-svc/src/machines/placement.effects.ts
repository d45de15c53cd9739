import type { ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import type { Offers, SharedInfrastructure, SharedResources } from '../resources/resources.ports.js';
import { CONNECTIONS, OFFERS, SHARED_RESOURCES } from '../tokens.js';
import { zonesOf } from '../validation/validation.planner.js';
import type { ZonesOf } from './machines.planner.js';

/** A connection on which machines can be created now. */
export interface PreparedConnection {
  readonly open: OpenConnection;
  readonly infrastructure: SharedInfrastructure;
  /** Zones for its machines; empty: the provider chooses. */
  readonly zones: readonly string[];
}

/** The zones of prepared connections, by name. */
export const zonesIn =
  (prepared: readonly PreparedConnection[]): ZonesOf =>
  (name) =>
    prepared.find(({ open }) => open.connection.name === name)?.zones ?? [];

/** The same as data. */
export const zonesOfAll = (prepared: readonly PreparedConnection[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(prepared.map(({ open, zones }) => [open.connection.name, zones]));

/** Opens connections, and ensures the resources that their machines share. */
@Injectable()
export class Placement {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(OFFERS) private readonly offers: Offers,
    @Inject(SHARED_RESOURCES) private readonly resources: SharedResources,
  ) {}

  /** Prepares every connection of the machines, one after the other. */
  async prepare(
    machines: readonly { readonly connection: ConnectionName; readonly spec: string }[],
    cause: Cause,
  ): Promise<readonly PreparedConnection[]> {
    const prepared: PreparedConnection[] = [];
    for (const name of new Set(machines.map(({ connection }) => connection))) {
      const open = await this.open(name);
      const specs = machines.filter(({ connection }) => connection === name).map(({ spec }) => spec);
      const infrastructure = await this.resources.ensure(open, specs, cause);
      const { region } = await this.offers.of(open, cause);
      const zones = region === undefined ? [] : (zonesOf(open.connection, region) ?? []);
      prepared.push({ open, infrastructure, zones });
    }
    return prepared;
  }

  open(name: ConnectionName): Promise<OpenConnection> {
    return openConnection(this.connections, name, { retryable: false });
  }
}
