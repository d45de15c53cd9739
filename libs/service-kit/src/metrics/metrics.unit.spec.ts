import { EventEmitter } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { measureRequests } from './request.metrics.js';
import { ServiceMetrics, type Reading } from './service.metrics.js';

const linesOf = async (metrics: ServiceMetrics, name: string): Promise<readonly string[]> =>
  (await metrics.text()).body.split('\n').filter((line) => line.startsWith(name));

describe('the metrics of a service', () => {
  it('have the delay until events are seen, and jobs by type and outcome', async () => {
    const metrics = new ServiceMetrics('infra-svc');
    metrics.eventsTaken([3, 40, -2]);
    metrics.attemptEnded({ type: 'CreateMachines', outcome: 'done', durationMs: 700 });
    metrics.attemptEnded({ type: 'CreateMachines', outcome: 'failed', durationMs: 20 });
    expect(await linesOf(metrics, 'fairlead_event_age_seconds_bucket{le="0.005"')).toEqual([
      'fairlead_event_age_seconds_bucket{le="0.005",service="infra-svc"} 2',
    ]);
    expect(await linesOf(metrics, 'fairlead_task_duration_seconds_count')).toEqual([
      'fairlead_task_duration_seconds_count{service="infra-svc",type="CreateMachines",outcome="done"} 1',
      'fairlead_task_duration_seconds_count{service="infra-svc",type="CreateMachines",outcome="failed"} 1',
    ]);
  });

  it('drop labels that a gauge no longer reports', async () => {
    const metrics = new ServiceMetrics('gateway');
    let readings: readonly Reading[] = [{ labels: { phase: 'Failed' }, value: 2 }];
    metrics.addGauge({ name: 'fairlead_things', help: 'Things', labels: ['phase'], read: () => readings });
    expect(await linesOf(metrics, 'fairlead_things')).toEqual(['fairlead_things{phase="Failed",service="gateway"} 2']);
    readings = [];
    expect(await linesOf(metrics, 'fairlead_things')).toEqual([]);
  });

  it('fail individually: an unreadable gauge is absent, counted by a metric, logged, and returns later', async () => {
    const words: string[] = [];
    const metrics = new ServiceMetrics('gateway', (sentence) => void words.push(sentence));
    let fails = false;
    const read = (): readonly Reading[] => {
      if (fails) throw new Error('date/time field value out of range');
      return [{ labels: {}, value: 3 }];
    };
    metrics.addGauge({ name: 'fairlead_fragile', help: 'Fragile', labels: [], read });
    metrics.addGauge({ name: 'fairlead_solid', help: 'Solid', labels: [], read: () => [{ labels: {}, value: 1 }] });
    expect(await linesOf(metrics, 'fairlead_fragile{')).toEqual(['fairlead_fragile{service="gateway"} 3']);
    fails = true;
    expect(await linesOf(metrics, 'fairlead_solid{')).toEqual(['fairlead_solid{service="gateway"} 1']);
    expect(await linesOf(metrics, 'fairlead_fragile{')).toEqual([]);
    expect(await linesOf(metrics, 'fairlead_collector_failed{collector="fairlead_fragile"')).toEqual([
      'fairlead_collector_failed{collector="fairlead_fragile",service="gateway"} 1',
    ]);
    expect(words[0]).toBe('the metric fairlead_fragile could not be read: date/time field value out of range');
    fails = false;
    expect(await linesOf(metrics, 'fairlead_collector_failed{collector="fairlead_fragile"')).toEqual([
      'fairlead_collector_failed{collector="fairlead_fragile",service="gateway"} 0',
    ]);
    expect(await linesOf(metrics, 'fairlead_fragile{')).toEqual(['fairlead_fragile{service="gateway"} 3']);
  });

  it('do not wait for a gauge that never answers', async () => {
    jest.useFakeTimers();
    try {
      const metrics = new ServiceMetrics('gateway');
      const read = (): Promise<never> => new Promise<never>(() => undefined);
      metrics.addGauge({ name: 'fairlead_silent', help: 'Silent', labels: [], read });
      const lines = linesOf(metrics, 'fairlead_collector_failed{collector="fairlead_silent"');
      await jest.advanceTimersByTimeAsync(5_000);
      expect(await lines).toEqual(['fairlead_collector_failed{collector="fairlead_silent",service="gateway"} 1']);
    } finally {
      jest.useRealTimers();
    }
  });

  it('label requests by route, never by path', async () => {
    const metrics = new ServiceMetrics('gateway');
    const middleware = measureRequests(metrics);
    const ask = (
      request: { readonly method: string; readonly route?: { readonly path?: unknown } },
      status: number,
    ) => {
      const response = Object.assign(new EventEmitter(), { statusCode: status });
      middleware(request, response, () => undefined);
      response.emit('close');
    };
    ask({ method: 'GET', route: { path: '/ns/:namespace/clusters/:cluster' } }, 200);
    ask({ method: 'GET' }, 404);
    expect(await linesOf(metrics, 'fairlead_http_request_duration_seconds_count')).toEqual([
      'fairlead_http_request_duration_seconds_count{service="gateway",method="GET",route="/ns/:namespace/clusters/:cluster",status="200"} 1',
      'fairlead_http_request_duration_seconds_count{service="gateway",method="GET",route="none",status="404"} 1',
    ]);
  });
});
