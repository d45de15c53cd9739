import type { ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { OnTask, type AttemptFailure, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Injectable } from '@nestjs/common';
import type { Connections } from '../providers/provider.ports.js';
import type { Offers } from '../resources/resources.ports.js';
import { CONNECTIONS, OFFERS } from '../tokens.js';
import { openOfferedConnection, whileCurrent } from './open.connection.js';

export type OfConnection = { readonly connection: ConnectionName };

export type OfAccepted = OfConnection & { readonly host: string; readonly asOf: number };

/** Verifies what a provider offers as soon as a connection to it is registered. */
@Controller()
export class ConnectionEffects {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(OFFERS) private readonly offers: Offers,
  ) {}

  /** Twelve attempts take about half an hour: time to start a provider that was registered before it ran. */
  @OnTask('VerifyConnection', {
    attemptsMax: 12,
    backoffFirstMs: 1_000,
    backoffMaxMs: 300_000,
    timeoutMs: 15 * 60_000,
  })
  async verify({
    data: { connection },
    cause,
    signal,
  }: Pick<TaskOf<OfConnection>, 'data' | 'cause' | 'signal'>): Promise<void> {
    const open = await openOfferedConnection(this.connections, connection);
    if (open === undefined) return;
    await whileCurrent(this.connections, open, async () => {
      await open.provider.recover?.(signal);
      await this.offers.refresh(open, { cause, isAnswer: true });
    });
  }

  /**
   * Only the log changes, because the host may be off. The connection is verified afterwards, so that its shown state
   * is current.
   */
  @OnTask('AcceptHost', {
    attemptsMax: 12,
    backoffFirstMs: 1_000,
    backoffMaxMs: 60_000,
    timeoutMs: 5 * 60_000,
  })
  async accept({ data: { connection, host, asOf }, cause }: Pick<TaskOf<OfAccepted>, 'data' | 'cause'>): Promise<void> {
    const open = await openOfferedConnection(this.connections, connection);
    if (open === undefined) return;
    await open.provider.accept?.(host, asOf);
    await whileCurrent(this.connections, open, () => this.offers.refresh(open, { cause, isAnswer: true }));
  }
}

/** Records why a connection cannot be used. */
@Injectable()
export class ConnectionFailures {
  constructor(@Inject(OFFERS) private readonly offers: Offers) {}

  async record(connection: ConnectionName, cause: Cause, failure: AttemptFailure): Promise<void> {
    // The first attempt answers a request; later ones are recorded only if their result differs.
    await this.offers.unverified(connection, failure.cause, { cause, isAnswer: failure.attempt === 1 });
  }
}
