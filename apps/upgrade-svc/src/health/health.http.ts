import { Controller, Get, Inject } from '@nestjs/common';
import { HealthEffects, type HealthReport } from './health.effects.js';

@Controller('health')
export class NodesHealthHttp {
  constructor(@Inject(HealthEffects) private readonly health: HealthEffects) {}

  /** What this replica receives: for operators, and to explain why nothing is remediated. */
  @Get('nodes')
  nodes(): HealthReport {
    return this.health.report();
  }
}
