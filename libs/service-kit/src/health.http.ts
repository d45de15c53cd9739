import { wordsOf } from '@fairlead/contracts';
import { Controller, Get, HttpStatus, Inject, Res } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { NATS, PARTITIONS, type Partitions, type Stall } from '@fairlead/event-sourcing/jetstream';
import type { DataSource } from 'typeorm';
import type { ServiceConfig } from './config.js';
import { DATABASE, SERVICE_CONFIG } from './tokens.js';

interface Answer {
  status(code: number): { json(body: unknown): void };
}

const ERROR_LENGTH_MAX = 300;

const sentenceOf = ({ partition, seq, error, forMs }: Stall): string => {
  const at = seq === null ? '' : ` at event ${seq}`;
  const why = error === '' ? 'the step under way does not end' : error.slice(0, ERROR_LENGTH_MAX);
  return `partition ${partition} has not moved for ${Math.round(forMs / 1_000)} s${at}: ${why}`;
};

/** Liveness and readiness, for people, supervisors and orchestrators. No secrets, no authentication. */
@Controller()
export class HealthHttp {
  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(PARTITIONS) private readonly partitions: Partitions,
    @Inject(SERVICE_CONFIG) private readonly config: ServiceConfig,
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
    const stalled = this.partitions.stalls().filter(({ forMs }) => forMs >= this.config.stallAfterMs);
    const log = stalled.length === 0 ? 'ok' : stalled.map(sentenceOf).join('; ');
    const ok = nats === 'ok' && database === 'ok' && log === 'ok';
    response
      .status(ok ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE)
      .json({ status: ok ? 'ok' : 'unavailable', nats, database, log });
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
