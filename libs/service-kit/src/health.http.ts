import { wordsOf } from '@fairlead/contracts';
import { Controller, Get, HttpStatus, Inject, Res } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { TasksProgress, NATS } from '@fairlead/event-sourcing/jetstream';
import type { DataSource } from 'typeorm';
import { Alarms } from './alarms.js';
import { LogProgress } from './log.progress.js';
import { ServiceLiveness } from './liveness.js';
import { DATABASE } from './tokens.js';

interface HttpResponse {
  status(code: number): { json(body: unknown): void };
}

/**
 * Liveness and readiness, for people, supervisors and orchestrators. Contains no secrets, requires no authentication.
 */
@Controller()
export class HealthHttp {
  @Inject(Alarms) private readonly alarms!: Alarms;
  @Inject(TasksProgress) private readonly jobs!: TasksProgress;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(LogProgress) private readonly progress: LogProgress,
    @Inject(ServiceLiveness) private readonly signs: ServiceLiveness,
  ) {}

  /** Fails only if a restart may help: tasks wait, and none of them finishes. */
  @Get('healthz')
  alive(@Res() response: HttpResponse): void {
    const tasks = this.jobs.report();
    const waits = this.jobs.waits();
    const isOk = tasks === 'ok';
    response
      .status(isOk ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE)
      .json({ status: isOk ? 'ok' : 'stuck', ...(isOk ? {} : { tasks }), ...(waits.length === 0 ? {} : { waits }) });
  }

  @Get('readyz')
  async ready(@Res() response: HttpResponse): Promise<void> {
    const [nats, database] = await Promise.all([
      this.probe(() => this.nats.flush()),
      this.probe(() => this.database.query('select 1')),
    ]);
    const log = this.progress.report();
    const ok = nats === 'ok' && database === 'ok' && log === 'ok';
    // Another service being down does not make this one unready.
    const services = this.signs.report();
    const alarms = this.alarms.report();
    const whole = [...Object.values(services), ...Object.values(alarms)].every((sign) => sign === 'ok');
    response
      .status(ok ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE)
      .json({ status: ok ? (whole ? 'ok' : 'degraded') : 'unavailable', nats, database, log, services, alarms });
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
