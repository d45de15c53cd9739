import type { Job } from './decorators.js';

/** A task that the state of a cluster asks for. */
export interface Pending {
  /** Names it among the tasks of its cluster and consumer. */
  readonly key: string;
  readonly job: Job;
  /** Where in the log its cluster began, and since when it is desired. */
  readonly firstSeq: number;
  readonly seq: number;
  /** How often it has failed, in this process or another. */
  readonly failures: number;
}

/** What became of an attempt. */
export type Attempted =
  | { readonly kind: 'over' }
  /** It is called again after `delayMs`, or where `whenFreed`, as soon as another task of its cluster ends. */
  | { readonly kind: 'again'; readonly delayMs: number; readonly failed: boolean; readonly whenFreed: boolean };

export interface TaskQueueOptions {
  readonly concurrency: number;
  readonly attempt: (job: Job, failures: number, abort: AbortController) => Promise<Attempted>;
  readonly isGivenUp: (job: Job, failures: number) => boolean;
  /** What share of the time since it was asked last the event loop was busy, between 0 and 1. */
  readonly utilization: () => number;
}

interface Slot {
  readonly consumer: string;
  readonly clusterKey: string;
  pending: Pending;
  failures: number;
  state: 'waiting' | 'delayed' | 'running' | 'over';
  timer?: NodeJS.Timeout;
  whenFreed: boolean;
  abort?: AbortController;
  /** It is desired once more since it runs. */
  next?: Pending;
  isGone: boolean;
}

/** So many run whatever the event loop does. */
const RUNNING_MIN = 4;
/** A loop that is busier gets no more tasks: they would only slow down those that run. */
const BUSY = 0.85;
const SAMPLE_MS = 25;
const STARTS_OF_SAMPLE = 8;
/** One in so many starts takes the task that has waited longest, so that none waits for ever behind older clusters. */
const LONGEST_WAITING_EVERY = 8;
const STOP_MS = 10_000;

const placeOf = (consumer: string, { key }: Pending): string => `${consumer}|${key}`;

const isBefore = (one: Pending, other: Pending): boolean =>
  one.firstSeq === other.firstSeq ? one.seq < other.seq : one.firstSeq < other.firstSeq;

/**
 * Tasks that this replica works on. They live in memory: the states of clusters say which they are, so the replica that gets a
 * partition makes them again. Clusters that began earlier come first, so that what was begun is finished; and only so many run at once as
 * the event loop has time for.
 */
export class TaskQueue {
  /** By cluster, then by consumer and key. */
  private readonly clusters = new Map<string, Map<string, Slot>>();
  /** In the order in which they start. */
  private readonly waiting: Slot[] = [];
  private running = 0;
  private starts = 0;
  private startsOfSample = 0;
  private isBusy = false;
  private sampler: NodeJS.Timeout | undefined;
  private stopped: (() => void) | undefined;

  constructor(private readonly options: TaskQueueOptions) {}

  get counts(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.waiting.length, running: this.running };
  }

  /** These are all tasks that the consumer's state of the cluster asks for now. */
  sync(consumer: string, clusterKey: string, pending: readonly Pending[]): void {
    const keys = new Set(pending.map(({ key }) => key));
    for (const slot of this.slotsOf(clusterKey))
      if (slot.consumer === consumer && !keys.has(slot.pending.key)) this.withdraw(slot);
    for (const one of pending) this.offer(consumer, clusterKey, one);
    this.start();
  }

  /** Another replica works on these clusters from now on; what runs is not aborted, since its lease protects it. */
  release(isReleased: (clusterKey: string) => boolean): void {
    for (const clusterKey of [...this.clusters.keys()])
      if (isReleased(clusterKey)) this.slotsOf(clusterKey).forEach((slot) => this.withdraw(slot));
  }

  /** Aborts what runs, and waits a while for its end. */
  async stop(): Promise<void> {
    this.release(() => true);
    clearInterval(this.sampler);
    const ended = new Promise<void>((resolve) => (this.stopped = resolve));
    for (const slots of this.clusters.values())
      for (const { abort } of slots.values()) abort?.abort(new Error('the service is stopping'));
    if (this.running === 0) return;
    const late = setTimeout(() => this.stopped?.(), STOP_MS);
    await ended;
    clearTimeout(late);
  }

  private slotsOf(clusterKey: string): readonly Slot[] {
    return [...(this.clusters.get(clusterKey)?.values() ?? [])];
  }

  private offer(consumer: string, clusterKey: string, pending: Pending): void {
    const slots = this.clusters.get(clusterKey) ?? new Map<string, Slot>();
    this.clusters.set(clusterKey, slots);
    const place = placeOf(consumer, pending);
    const slot = slots.get(place);
    if (slot === undefined) {
      const { failures } = pending;
      const fresh: Slot = { consumer, clusterKey, pending, failures, state: 'over', whenFreed: false, isGone: false };
      slots.set(place, fresh);
      if (!this.options.isGivenUp(pending.job, failures)) this.enqueue(fresh);
      return;
    }
    slot.isGone = false;
    if (slot.pending.job.id === pending.job.id) return;
    if (slot.state === 'running') slot.next = pending;
    else this.renew(slot, pending);
  }

  private renew(slot: Slot, pending: Pending): void {
    this.dequeue(slot);
    slot.pending = pending;
    slot.failures = pending.failures;
    this.enqueue(slot);
  }

  private withdraw(slot: Slot): void {
    if (slot.state === 'running') {
      slot.isGone = true;
      delete slot.next;
      return;
    }
    this.dequeue(slot);
    this.forget(slot);
  }

  private enqueue(slot: Slot): void {
    slot.state = 'waiting';
    let [from, to] = [0, this.waiting.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isBefore(slot.pending, this.waiting[middle]!.pending)) to = middle;
      else from = middle + 1;
    }
    this.waiting.splice(from, 0, slot);
  }

  private dequeue(slot: Slot): void {
    clearTimeout(slot.timer);
    if (slot.state === 'waiting') this.waiting.splice(this.waiting.indexOf(slot), 1);
    slot.state = 'over';
  }

  private start(): void {
    if (this.sampler === undefined) this.startsOfSample = 0;
    while (this.waiting.length > 0 && this.stopped === undefined && this.hasRoom()) void this.run(this.next());
    if (this.waiting.length === 0 || this.stopped !== undefined || this.sampler !== undefined) return;
    this.options.utilization();
    this.sampler = setInterval(() => this.sample(), SAMPLE_MS);
  }

  private hasRoom(): boolean {
    if (this.running < Math.min(RUNNING_MIN, this.options.concurrency)) return true;
    return this.running < this.options.concurrency && !this.isBusy && this.startsOfSample < STARTS_OF_SAMPLE;
  }

  private sample(): void {
    this.isBusy = this.options.utilization() > BUSY;
    this.startsOfSample = 0;
    this.start();
    if (this.waiting.length > 0) return;
    clearInterval(this.sampler);
    this.sampler = undefined;
    this.isBusy = false;
  }

  private next(): Slot {
    this.starts += 1;
    this.startsOfSample += 1;
    if (this.starts % LONGEST_WAITING_EVERY !== 0) return this.waiting[0]!;
    return this.waiting.reduce((one, other) => (other.pending.seq < one.pending.seq ? other : one));
  }

  private async run(slot: Slot): Promise<void> {
    this.dequeue(slot);
    slot.state = 'running';
    slot.abort = new AbortController();
    this.running += 1;
    const attempted = await this.options.attempt(slot.pending.job, slot.failures, slot.abort);
    this.running -= 1;
    delete slot.abort;
    this.settle(slot, attempted);
    this.free(slot.clusterKey);
    this.start();
    if (this.running === 0) this.stopped?.();
  }

  private settle(slot: Slot, attempted: Attempted): void {
    slot.state = 'over';
    const { next, isGone } = slot;
    delete slot.next;
    if (isGone) this.forget(slot);
    else if (next !== undefined) this.renew(slot, next);
    else if (attempted.kind === 'again') this.delay(slot, attempted);
  }

  private delay(slot: Slot, { delayMs, failed, whenFreed }: Attempted & { readonly kind: 'again' }): void {
    if (failed) slot.failures += 1;
    slot.state = 'delayed';
    slot.whenFreed = whenFreed;
    slot.timer = setTimeout(() => {
      this.enqueue(slot);
      this.start();
    }, delayMs);
  }

  private free(clusterKey: string): void {
    for (const slot of this.slotsOf(clusterKey)) {
      if (slot.state !== 'delayed' || !slot.whenFreed) continue;
      this.dequeue(slot);
      this.enqueue(slot);
    }
  }

  private forget({ consumer, clusterKey, pending }: Slot): void {
    const slots = this.clusters.get(clusterKey);
    slots?.delete(placeOf(consumer, pending));
    if (slots?.size === 0) this.clusters.delete(clusterKey);
  }
}
