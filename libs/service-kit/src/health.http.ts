import { wordsOf } from '@fairlead/contracts';
import { Controller, Get, HttpStatus, Inject, Res } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { NATS } from '@fairlead/event-sourcing/jetstream';
import type { DataSource } from 'typeorm';
import { DATABASE } from './tokens.js';

interface Answer {
  status(code: number): { json(body: unknown): void };
}

/** Liveness and readiness, for people, supervisors and orchestrators. No secrets, no authentication. */
@Controller()
export class HealthHttp {
  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(DATABASE) private readonly database: DataSource,
  ) {}

  @Get('healthz')
  alive(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(@Res() response: Answer): Promise<void> {
    const [nats, database] = await Promise.all([
      this.probe(() => this.nats.flush()),
      this.probe(() => this.database.query('select 1')),
    ]);
    const ok = nats === 'ok' && database === 'ok';
    response
      .status(ok ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE)
      .json({ status: ok ? 'ok' : 'unavailable', nats, database });
  }

  private async probe(ask: () => Promise<unknown>): Promise<string> {
    const deadline = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error('no answer within 2 s')), 2_000).unref();
    });
    try {
      await Promise.race([ask(), deadline]);
      return 'ok';
    } catch (error) {
      return wordsOf(error);
    }
  }
}
