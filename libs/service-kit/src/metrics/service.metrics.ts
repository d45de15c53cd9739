import { wordsOf } from '@fairlead/contracts';
import { REJECTIONS, type RejectionReason } from '@fairlead/event-sourcing';
import type { AttemptOutcome, Meter } from '@fairlead/event-sourcing/jetstream';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** From an immediate commit to a projection that is being rebuilt. */
const AGE_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300];
/** Jobs call a provider, run a step on a host by SSH, or drain a node. */
const ATTEMPT_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900];
const HTTP_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

const S = 1_000;
/**
 * prom-client measures the event loop's delay with a timer that wakes an idle process; this is its maximum interval.
 */
const EVENT_LOOP_PRECISION_MS = 24 * 60 * 60 * 1_000;
const EVENT_LOOP_DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** The current values of one gauge, each with its labels. */
export interface Reading {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface GaugeRequest {
  /** With prefix and unit, following Prometheus' conventions: `fairlead_clusters`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Called at each scrape. */
  readonly read: () => Promise<readonly Reading[]> | readonly Reading[];
}

interface Collector extends Pick<GaugeRequest, 'name' | 'labels' | 'read'> {
  readonly gauge: Gauge;
}

/** A gauge without labels is 0 after a reset, which would be reported as a value. */
const empty = ({ gauge, labels }: Pick<Collector, 'gauge' | 'labels'>): void => {
  gauge.reset();
  if (labels.length === 0) gauge.remove();
};

/** Less than Prometheus' scrape timeout of ten seconds. */
const COLLECT_MAX_MS = 5_000;

const inTime = async <T>(read: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${COLLECT_MAX_MS / S} s`)), COLLECT_MAX_MS);
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** The metrics of this replica. Labels are kinds, never clusters or users, of which there may be thousands. */
export class ServiceMetrics implements Meter {
  private readonly registry = new Registry();
  private readonly eventAge: Histogram;
  private readonly rejected: Counter<'reason'>;
  private readonly jobs: Histogram<'type' | 'outcome'>;
  private readonly http: Histogram<'method' | 'route' | 'status'>;

  private readonly failed: Gauge<'collector'>;
  private readonly collectors: Collector[] = [];

  /** `log`: where a gauge's failure is logged. */
  constructor(
    service: string,
    private readonly log: (words: string) => void = () => undefined,
  ) {
    const { registry } = this;
    registry.setDefaultLabels({ service });
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
    for (const of of EVENT_LOOP_DELAYS) registry.removeSingleMetric(`nodejs_eventloop_lag_${of}_seconds`);
    this.failed = new Gauge({
      name: 'fairlead_collector_failed',
      help: '1: this metric could not be read at this scrape, and is absent; the log of the service has the reason',
      labelNames: ['collector'],
      registers: [registry],
    });
    let before = performance.eventLoopUtilization();
    this.addGauge({
      name: 'fairlead_event_loop_busy_ratio',
      help: 'Share of the time since the last scrape in which the event loop was busy; near 1, the service is as fast as one core',
      labels: [],
      read: () => {
        const now = performance.eventLoopUtilization();
        const { utilization } = performance.eventLoopUtilization(now, before);
        before = now;
        return [{ labels: {}, value: utilization }];
      },
    });
    this.eventAge = new Histogram({
      name: 'fairlead_event_age_seconds',
      help: 'Time from the append of an event until the rows of this service show it',
      buckets: AGE_BUCKETS_S,
      registers: [registry],
    });
    this.rejected = new Counter({
      name: 'fairlead_events_rejected_total',
      help: 'Messages of the log that are no events and were skipped; "fairlead quarantine rejected" names their streams',
      labelNames: ['reason'],
      registers: [registry],
    });
    // Starts at 0, so that an alert on an increase sees the first rejection.
    for (const reason of REJECTIONS) this.rejected.inc({ reason }, 0);
    this.jobs = new Histogram({
      name: 'fairlead_task_duration_seconds',
      help: 'Attempts of jobs: done, later (called again), failed (tried again), buried (given up)',
      labelNames: ['type', 'outcome'],
      buckets: ATTEMPT_BUCKETS_S,
      registers: [registry],
    });
    this.http = new Histogram({
      name: 'fairlead_http_request_duration_seconds',
      help: 'Requests by route; those that watch or wait last as long as they were asked to',
      labelNames: ['method', 'route', 'status'],
      buckets: HTTP_BUCKETS_S,
      registers: [registry],
    });
  }

  eventsTaken(agesMs: readonly number[]): void {
    for (const ageMs of agesMs) this.eventAge.observe(Math.max(0, ageMs) / S);
  }

  eventsRejected(reason: RejectionReason, count: number): void {
    this.rejected.inc({ reason }, count);
  }

  attemptEnded({ type, outcome, durationMs }: { type: string; outcome: AttemptOutcome; durationMs: number }): void {
    this.jobs.observe({ type, outcome }, durationMs / S);
  }

  requestEnded(request: { method: string; route: string; status: number; durationMs: number }): void {
    const { method, route, status, durationMs } = request;
    this.http.observe({ method, route, status: String(status) }, durationMs / S);
  }

  /** Returns a function that increments the counter. */
  addCounter({ name, help, labels }: Omit<GaugeRequest, 'read'>): (of: Readonly<Record<string, string>>) => void {
    const counter = new Counter({ name, help, labelNames: [...labels], registers: [this.registry] });
    return (of) => counter.inc({ ...of });
  }

  addGauge({ name, help, labels, read }: GaugeRequest): void {
    const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [this.registry] });
    this.collectors.push({ name, labels, gauge, read });
  }

  /**
   * In Prometheus' text format. A gauge that cannot be read is absent, and listed by `fairlead_collector_failed`; the
   * others are present.
   */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    await Promise.all(this.collectors.map((collector) => this.collect(collector)));
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  private async collect(collector: Collector): Promise<void> {
    const { name, gauge, read } = collector;
    try {
      const readings = await inTime(Promise.resolve().then(read));
      empty(collector); // A stale value must not remain.
      for (const { labels: of, value } of readings) gauge.set(of, value);
      this.failed.set({ collector: name }, 0);
    } catch (error) {
      empty(collector);
      this.failed.set({ collector: name }, 1);
      this.log(`the metric ${name} could not be read: ${wordsOf(error)}`);
    }
  }
}
