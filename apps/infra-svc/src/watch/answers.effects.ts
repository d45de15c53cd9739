import type { Cause as WorldCause, ConnectionName } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { openConnection } from '../connections/open.connection.js';
import type { Connections, ProviderOperation } from '../providers/provider.ports.js';
import type { Occasion, Offers } from '../resources/resources.ports.js';
import { ResourcesQueries } from '../resources/resources.queries.js';
import { CONNECTIONS, OFFERS } from '../tokens.js';

const LIST: ProviderOperation = 'list machines';

/** States whether the provider of a connection responds, so that people see what its clusters wait for. */
@Injectable()
export class ConnectionAnswers {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Pick<Connections, 'open'>,
    @Inject(OFFERS) private readonly offers: Pick<Offers, 'refresh' | 'unverified'>,
    @Inject(ResourcesQueries) private readonly queries: Pick<ResourcesQueries, 'of'>,
  ) {}

  async missing(connection: ConnectionName, failed: WorldCause): Promise<void> {
    await this.offers.unverified(connection, { ...failed, operation: LIST }, this.occasion());
  }

  /** Verifies the connection again if only the response was missing. */
  async given(connection: ConnectionName): Promise<void> {
    const row = await this.queries.of(connection);
    if (row?.unverified?.operation !== LIST) return;
    await this.offers.refresh(await openConnection(this.connections, connection, { retryable: true }), this.occasion());
  }

  private occasion(): Occasion {
    const id = randomUUID();
    return { cause: { actor: 'system/infra-svc', correlationId: id, causationId: id }, isAnswer: false };
  }
}
