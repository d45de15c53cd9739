import {
  EVENT_CLASSES,
  EVERY_EVENT,
  NONE,
  type ActivityQuery,
  type EventClass,
  type FleetActivity,
} from '@fairlead/contracts';
import { decode, NATS, readBatch, READ_BATCH } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { mayIn, type Identity } from '../access/identity.js';
import { eventClass, READER } from './fleet.rules.js';

type Counts = Record<EventClass, number>;

/** Counted in intervals of so many seconds; as many are kept as lie in the latest weeks. */
const SLOT_SECONDS = 5;
const MS_PER_SECOND = 1_000;
const COUNTS_KEPT_MAX = 100_000;
/** Of an answer. */
const INTERVALS_MAX = 400;
/** An answer waits for so many messages of the log at most; the next one goes on. */
const MESSAGES_READ_MAX = 100_000;

const noCounts = (): Counts => ({ request: 0, decision: 0, observation: 0, failure: 0 });

interface Slot {
  readonly atMs: number;
  readonly namespace: string;
  readonly cluster: string;
  readonly counts: Counts;
}

/** How busy the log was, by time: counted once, and continued with each request. */
@Injectable()
export class FleetActivityIndex {
  private readonly slots = new Map<string, Slot>();
  private through = 0;
  private reading: Promise<void> | undefined;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async between({ from, to, namespace, cluster }: ActivityQuery, identity: Identity): Promise<FleetActivity> {
    this.reading ??= this.readOn().finally(() => (this.reading = undefined));
    await this.reading;
    const nowMs = this.clock.now().getTime();
    const toMs = to === undefined ? nowMs : Date.parse(to);
    const fromGivenMs = from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from);
    const found = [...this.slots.values()].filter(
      (slot) =>
        slot.atMs + SLOT_SECONDS * MS_PER_SECOND > fromGivenMs &&
        slot.atMs <= toMs &&
        (namespace ?? slot.namespace) === slot.namespace &&
        (cluster ?? slot.cluster) === slot.cluster &&
        mayIn(identity, READER, slot.namespace),
    );
    const firstMs = found.reduce((least, { atMs }) => Math.min(least, atMs), toMs);
    const fromMs = Math.max(fromGivenMs, firstMs);
    return { kind: 'FleetActivity', ...intervalsOf(found, fromMs, toMs) };
  }

  private async readOn(): Promise<void> {
    for (let read = 0; read < MESSAGES_READ_MAX;) {
      const batch = await readBatch(this.nats, EVERY_EVENT, this.through, READ_BATCH);
      for (const { subject, seq, bytes } of batch) {
        this.through = seq;
        const event = decode(subject, seq, bytes);
        if (event !== undefined && event.meta.cluster !== NONE) this.count(event);
      }
      read += batch.length;
      if (batch.length < READ_BATCH) return;
    }
  }

  private count(event: NonNullable<ReturnType<typeof decode>>): void {
    const { time, namespace, cluster } = event.meta;
    const size = SLOT_SECONDS * MS_PER_SECOND;
    const atMs = Math.floor(Date.parse(time) / size) * size;
    const key = `${atMs} ${namespace}/${cluster}`;
    const slot = this.slots.get(key) ?? { atMs, namespace, cluster, counts: noCounts() };
    slot.counts[eventClass(event)] += 1;
    this.slots.set(key, slot);
    for (const oldest of this.slots.keys()) {
      if (this.slots.size <= COUNTS_KEPT_MAX) return;
      this.slots.delete(oldest);
    }
  }
}

const intervalsOf = (slots: readonly Slot[], fromMs: number, toMs: number): Omit<FleetActivity, 'kind'> => {
  const seconds = Math.max(0, toMs - fromMs) / MS_PER_SECOND;
  const bucketSeconds = Math.max(1, Math.ceil(seconds / INTERVALS_MAX / SLOT_SECONDS)) * SLOT_SECONDS;
  const bucketMs = bucketSeconds * MS_PER_SECOND;
  const intervals = new Map<number, Counts>();
  for (const { atMs, counts } of slots) {
    const at = Math.floor(atMs / bucketMs) * bucketMs;
    const interval = intervals.get(at) ?? noCounts();
    for (const one of EVENT_CLASSES) interval[one] += counts[one];
    intervals.set(at, interval);
  }
  const items = [...intervals]
    .sort(([one], [other]) => one - other)
    .map(([at, counts]) => ({ at: new Date(at).toISOString(), ...counts }));
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), bucketSeconds, items };
};
