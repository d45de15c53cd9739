import { aliveSubject, SERVICES, type ServiceName } from '@fairlead/contracts';
import { sharedInterval } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';

const PUBLISH_INTERVAL_MS = 5_000;
/** Three announcements may be lost before a service is reported silent. */
const SILENT_AFTER_MS = 20_000;
const SERVICE_TOKEN = 1;

/** `ok`, or for how long it has been silent. */
export type LivenessReport = Readonly<Partial<Record<ServiceName, string>>>;

/**
 * Services never call each other, so a service that is down is noticed only by waiting work. Each announces every few
 * seconds that it is serving, and receives the announcements of the others: every replica can report which service has
 * no replica left.
 */
export class ServiceLiveness {
  private readonly heardAtMs = new Map<string, number>();
  private listensSinceMs = 0;
  private stopPublishing = (): void => undefined;
  private subscription: Subscription | undefined;

  constructor(
    private readonly nc: NatsConnection,
    private readonly service: ServiceName,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  start(): void {
    this.listensSinceMs = this.nowMs();
    this.subscription = this.nc.subscribe(aliveSubject('*'), {
      callback: (error, message) => {
        if (error === null) this.received(message.subject.split('.')[SERVICE_TOKEN] ?? '');
      },
    });
    this.publish();
    this.stopPublishing = sharedInterval(PUBLISH_INTERVAL_MS, () => this.publish());
    void this.beginAgainOnReconnect();
  }

  stop(): void {
    this.stopPublishing();
    this.subscription?.unsubscribe();
  }

  received(service: string): void {
    this.heardAtMs.set(service, this.nowMs());
  }

  report(): LivenessReport {
    const nowMs = this.nowMs();
    const others = SERVICES.filter((service) => service !== this.service);
    return Object.fromEntries(others.map((service) => [service, this.signOf(service, nowMs)]));
  }

  private signOf(service: ServiceName, nowMs: number): string {
    const silentMs = nowMs - Math.max(this.listensSinceMs, this.heardAtMs.get(service) ?? 0);
    return silentMs < SILENT_AFTER_MS ? 'ok' : `silent for ${Math.round(silentMs / 1_000)} s; its work waits`;
  }

  private publish(): void {
    try {
      this.nc.publish(aliveSubject(this.service));
    } catch {
      // The connection is closed; its monitor ends the service.
    }
  }

  /** During an outage of NATS every service is silent, and none is reported. */
  private async beginAgainOnReconnect(): Promise<void> {
    for await (const { type } of this.nc.status()) {
      if (type === 'reconnect') this.listensSinceMs = this.nowMs();
    }
  }
}
