import { Controller, Get, Inject, Res } from '@nestjs/common';
import { METRICS } from '../tokens.js';
import type { ServiceMetrics } from './service.metrics.js';

interface HttpResponse {
  set(header: string, value: string): HttpResponse;
  send(body: string): void;
}

/** The endpoint for Prometheus. It names no cluster, so like health it requires no token. */
@Controller()
export class MetricsHttp {
  constructor(@Inject(METRICS) private readonly metrics: ServiceMetrics) {}

  @Get('metrics')
  async show(@Res() response: HttpResponse): Promise<void> {
    const { contentType, body } = await this.metrics.text();
    response.set('Content-Type', contentType).send(body);
  }
}
