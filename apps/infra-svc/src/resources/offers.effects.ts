import {
  refuse,
  type Cause as WorldCause,
  type ConnectionName,
  type ConnectionOffer,
  type Fact,
} from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { inTime } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Settings } from '../config.js';
import type { Connections, OpenConnection } from '../providers/provider.ports.js';
import { UnusableHosts } from '../providers/unusable.hosts.js';
import { CONNECTIONS, SETTINGS } from '../tokens.js';
import { Coalesced } from './coalesced.effects.js';
import { ResourcesLog } from './resources.log.effects.js';
import type { Occasion, Offering, Offers } from './resources.ports.js';

/** Connections whose last attempt is remembered. */
const UNUSABLE_MAX = 100;

/** Queries the offers of providers; clusters that are validated together share one query. */
@Injectable()
export class ProviderOffers implements Offers {
  private readonly offerings: Coalesced<Offering>;
  /** Why none of the hosts of a connection could be used, until the failed attempt is recorded. */
  private readonly unusable = new LRUCache<ConnectionName, UnusableHosts>({ max: UNUSABLE_MAX });

  constructor(
    @Inject(ResourcesLog) private readonly log: ResourcesLog,
    @Inject(CONNECTIONS) private readonly connections: Pick<Connections, 'isCurrent'>,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.offerings = new Coalesced(settings.offersFreshForMs);
  }

  of(open: OpenConnection, cause: Cause): Promise<Offering> {
    return this.offerings.get(open.connection.registration, () => this.ask(open, { cause, isAnswer: false }));
  }

  refresh(open: OpenConnection, occasion: Occasion): Promise<Offering> {
    return this.offerings.renew(open.connection.registration, () => this.ask(open, occasion));
  }

  async unverified(connection: ConnectionName, failed: WorldCause, occasion: Occasion): Promise<void> {
    const found = this.unusable.get(connection);
    const hosts = found?.message === failed.message ? { hosts: [...found.hosts] } : {};
    await this.record({ type: 'ConnectionUnverified', data: { connection, cause: failed, ...hosts } }, occasion);
  }

  private ask(open: OpenConnection, occasion: Occasion): Promise<Offering> {
    return inTime(this.settings.resourcesTimeoutMs, (late) => this.askBefore(late, open, occasion));
  }

  private async askBefore(
    signal: AbortSignal,
    { connection, provider }: OpenConnection,
    occasion: Occasion,
  ): Promise<Offering> {
    const { nlb, simulated, hosts } = await provider.verify(signal).catch((error: unknown) => {
      if (error instanceof UnusableHosts) this.unusable.set(connection.name, error);
      throw error;
    });
    const specs = await provider.listSpecs(signal);
    const region = await provider.resolveRegion(connection.region, signal);
    const offer: ConnectionOffer = {
      provider: connection.provider,
      region: connection.region,
      zones: [...(region?.zones ?? [])],
      specs: [...specs],
      capabilities: { nlb, simulated },
      ...(hosts === undefined ? {} : { hosts: [...hosts] }),
    };
    // An offer from before the connection was moved does not apply.
    if (await this.connections.isCurrent(connection)) await this.state(connection.name, { offer, region }, occasion);
    return { offer, region };
  }

  private async state(connection: ConnectionName, { offer, region }: Offering, occasion: Occasion): Promise<void> {
    if (region !== undefined) {
      await this.record({ type: 'ConnectionVerified', data: { connection, offer } }, occasion);
      return;
    }
    const { message } = refuse('cluster.region-unknown', { region: offer.region });
    await this.unverified(connection, { operation: 'resolve region', target: connection, message }, occasion);
  }

  private record(
    fact: Fact<'ConnectionVerified' | 'ConnectionUnverified'>,
    { cause, isAnswer }: Occasion,
  ): Promise<void> {
    return isAnswer ? this.log.answer(fact, cause) : this.log.record(fact, cause);
  }
}
