import type { ConcurrencyGroups } from '../concurrency.groups.js';
import type { QueuedTask } from './decorators.js';

/** A task that the state of a cluster desires. */
export interface Pending {
  /** Identifies it among the tasks of its cluster and consumer. */
  readonly key: string;
  readonly task: QueuedTask;
  /** Its concurrency groups. */
  readonly groups: readonly string[];
  /** Sequence at which its cluster began, and since which it is desired. */
  readonly firstSeq: number;
  readonly seq: number;
  /** How often it has failed, in any process. */
  readonly failures: number;
}

/** The outcome of an attempt. */
export type Attempted =
  | { readonly kind: 'over' }
  /** It is called again after `delayMs`, or with `whenFreed` as soon as another task of its cluster ends. */
  | { readonly kind: 'again'; readonly delayMs: number; readonly failed: boolean; readonly whenFreed: boolean };

export interface TaskQueueOptions {
  readonly concurrency: number;
  readonly groups: ConcurrencyGroups;
  readonly attempt: (task: QueuedTask, failures: number, abort: AbortController) => Promise<Attempted>;
  /** Called on a possible change with the number of tasks that wait for a slot, and per full group. */
  readonly onWaiting: (count: number, full: ReadonlyMap<string, number>) => void;
  readonly isGivenUp: (task: QueuedTask, failures: number) => boolean;
  /** The load of the process and its machine since the last call, between 0 and 1. */
  readonly load: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
}

interface Slot {
  readonly consumer: string;
  readonly clusterKey: string;
  pending: Pending;
  failures: number;
  state: 'waiting' | 'delayed' | 'running' | 'over';
  /** The list in which it waits. */
  list?: Slot[];
  timer?: NodeJS.Timeout;
  whenFreed: boolean;
  abort?: AbortController;
  /** It became desired again while running. */
  next?: Pending;
  isGone: boolean;
}

/** This many run at any load. */
const RUNNING_MIN = 8;
/** Under more load, more concurrent tasks would only slow down the running ones. */
const LOAD_MAX = 0.85;
const SAMPLE_MS = 25;
const STARTS_OF_SAMPLE = 8;
/** Under load, one more starts every second: tasks that mostly wait for others must not wait for an idle machine. */
const START_EVERY_MS = 1_000;
/**
 * A requested cluster starts if fewer than this many are in progress. Beyond that, one starts every ten seconds while
 * CPUs are saturated, because some take long at any load; otherwise one per sample, until they are.
 */
const UNDER_WAY_MAX = 16;
const CLUSTER_EVERY_MS = 10_000;
/**
 * A cluster without progress for this long waits for something other than CPUs: a host, a person. It does not count.
 */
const PROGRESS_WITHIN_MS = 120_000;
/**
 * Clusters in progress use CPU in bursts: beyond this mean over some samples, more of them would slow each other down.
 */
const MEAN_LOAD_MAX = 0.5;
const SAMPLES_OF_MEAN = 20;
/** Every so many starts the longest waiting task is chosen, so that it does not starve behind older clusters. */
const LONGEST_WAITING_EVERY = 8;
const STOP_MS = 10_000;

const placeOf = (consumer: string, { key }: Pending): string => `${consumer}|${key}`;

const isBefore = (one: Pending, other: Pending): boolean =>
  one.firstSeq === other.firstSeq ? one.seq < other.seq : one.firstSeq < other.firstSeq;

const firstOf = (slots: readonly Slot[]): Slot | undefined =>
  slots.reduce<Slot | undefined>(
    (one, other) => (one === undefined || isBefore(other.pending, one.pending) ? other : one),
    undefined,
  );

const longestWaiting = (slots: readonly Slot[]): Slot | undefined =>
  slots.reduce<Slot | undefined>(
    (one, other) => (one === undefined || other.pending.seq < one.pending.seq ? other : one),
    undefined,
  );

/**
 * Tasks that this replica works on. They are in memory only: the states of clusters determine them, so a replica that
 * acquires a partition creates them again. Older clusters come first, so that started ones are finished; and the
 * concurrency is limited by the load of the machine.
 */
export class TaskQueue {
  /** By cluster, then by consumer and key. */
  private readonly clusters = new Map<string, Map<string, Slot>>();
  /**
   * In starting order; tasks of clusters that have not started are separate, because there may be a thousand of them.
   */
  private readonly waiting: Slot[] = [];
  private readonly unbegun: Slot[] = [];
  /** How many of them wait for the same groups. */
  private readonly waitingFor = new Map<string, { readonly groups: readonly string[]; count: number }>();
  private running = 0;
  private starts = 0;
  private sampledAtMs = 0;
  private isLoaded = false;
  private meanLoad: number | undefined;
  /** Clusters of which no task has started since they were requested. */
  private readonly requested = new Set<string>();
  /** Started clusters that are neither Ready nor Failed, with the time of their last progress. */
  private readonly underWay = new Map<string, number>();
  private begunAtMs = 0;
  /** How many more may start until the next sample, beyond those that always may. */
  private startsLeft = STARTS_OF_SAMPLE;
  private startedAtMs = 0;
  private sampler: NodeJS.Timeout | undefined;
  private stopped: (() => void) | undefined;

  constructor(private readonly options: TaskQueueOptions) {
    options.groups.onPlace(() => this.start());
  }

  get counts(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.waiting.length + this.unbegun.length, running: this.running };
  }

  /** Sets all tasks that the consumer's state of the cluster currently desires. */
  sync(consumer: string, clusterKey: string, pending: readonly Pending[]): void {
    const keys = new Set(pending.map(({ key }) => key));
    for (const slot of this.slotsOf(clusterKey))
      if (slot.consumer === consumer && !keys.has(slot.pending.key)) this.withdraw(slot);
    for (const one of pending) this.offer(consumer, clusterKey, one);
    this.start();
  }

  /** Its first task may have to wait until others are Ready. */
  wasRequested(clusterKey: string): void {
    this.requested.add(clusterKey);
    this.placeAgain(clusterKey);
  }

  /** It is Ready, has failed, or is deleted: others no longer wait for it. */
  hasSettled(clusterKey: string): void {
    const hasChanged = this.requested.delete(clusterKey);
    if (hasChanged) this.placeAgain(clusterKey);
    if (this.underWay.delete(clusterKey) || hasChanged) this.start();
  }

  /** An event other than a failed attempt was recorded for it. */
  hasProgressed(clusterKey: string): void {
    if (this.underWay.has(clusterKey)) this.underWay.set(clusterKey, this.options.nowMs());
  }

  /** Another replica now works on these clusters; running tasks are not aborted, because their leases protect them. */
  release(isReleased: (clusterKey: string) => boolean): void {
    for (const clusterKey of [...this.clusters.keys()])
      if (isReleased(clusterKey)) this.slotsOf(clusterKey).forEach((slot) => this.withdraw(slot));
    for (const clusters of [this.requested, this.underWay])
      for (const clusterKey of [...clusters.keys()]) if (isReleased(clusterKey)) clusters.delete(clusterKey);
  }

  /** Aborts running tasks, and waits for them for a limited time. */
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
      if (!this.options.isGivenUp(pending.task, failures)) this.enqueue(fresh);
      return;
    }
    slot.isGone = false;
    if (slot.pending.task.id === pending.task.id) return;
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
    const list = this.requested.has(slot.clusterKey) ? this.unbegun : this.waiting;
    slot.list = list;
    let [from, to] = [0, list.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isBefore(slot.pending, list[middle]!.pending)) to = middle;
      else from = middle + 1;
    }
    list.splice(from, 0, slot);
    this.countIn(slot.pending, 1);
  }

  private dequeue(slot: Slot): void {
    clearTimeout(slot.timer);
    if (slot.state === 'waiting') {
      slot.list?.splice(slot.list.indexOf(slot), 1);
      this.countIn(slot.pending, -1);
    }
    slot.state = 'over';
  }

  private countIn({ groups }: Pending, change: 1 | -1): void {
    const name = groups.join('\n');
    const count = (this.waitingFor.get(name)?.count ?? 0) + change;
    if (count === 0) this.waitingFor.delete(name);
    else this.waitingFor.set(name, { groups, count });
  }

  /** Moves its tasks, because whether the cluster has started has changed. */
  private placeAgain(clusterKey: string): void {
    for (const slot of this.slotsOf(clusterKey)) {
      if (slot.state !== 'waiting') continue;
      this.dequeue(slot);
      this.enqueue(slot);
    }
  }

  private start(): void {
    if (this.stopped !== undefined) return;
    this.sample();
    for (let slot = this.next(); slot !== undefined; slot = this.next()) void this.run(slot);
    this.count();
  }

  private count(): void {
    const full = new Map<string, number>();
    let due = 0;
    for (const { groups, count } of this.waitingFor.values()) {
      const group = this.options.groups.full(groups);
      if (group === undefined) due += count;
      else full.set(group, (full.get(group) ?? 0) + count);
    }
    this.options.onWaiting(due, full);
    if (due > 0) return this.startAgain();
    clearInterval(this.sampler);
    this.sampler = undefined;
  }

  /** At each sample, until no task waits for a slot. */
  private startAgain(): void {
    this.sampler ??= setInterval(() => this.start(), SAMPLE_MS);
  }

  private sample(): void {
    const nowMs = this.options.nowMs();
    if (nowMs - this.sampledAtMs < SAMPLE_MS) return;
    this.sampledAtMs = nowMs;
    for (const [clusterKey, progressedAtMs] of this.underWay)
      if (nowMs - progressedAtMs > PROGRESS_WITHIN_MS) this.underWay.delete(clusterKey);
    const load = this.options.load();
    this.isLoaded = load > LOAD_MAX;
    const mean = this.meanLoad ?? load;
    this.meanLoad = mean + (load - mean) / SAMPLES_OF_MEAN;
    this.startsLeft = this.isLoaded ? Number(nowMs - this.startedAtMs > START_EVERY_MS) : STARTS_OF_SAMPLE;
  }

  /** The task to start now. */
  private next(): Slot | undefined {
    const { concurrency, groups } = this.options;
    const isExtra = this.running >= RUNNING_MIN;
    if (this.running >= concurrency || (isExtra && this.startsLeft <= 0)) return undefined;
    const nowMs = this.options.nowMs();
    const pauseMs = (this.meanLoad ?? 0) > MEAN_LOAD_MAX ? CLUSTER_EVERY_MS : SAMPLE_MS;
    const mayBegin = this.underWay.size < UNDER_WAY_MAX || nowMs - this.begunAtMs > pauseMs;
    const lists = mayBegin ? [this.waiting, this.unbegun] : [this.waiting];
    const hasPlace = ({ pending }: Slot): boolean => groups.full(pending.groups) === undefined;
    const next =
      (this.starts + 1) % LONGEST_WAITING_EVERY === 0
        ? longestWaiting(lists.flatMap((list) => list.filter(hasPlace)))
        : firstOf(lists.flatMap((list) => list.find(hasPlace) ?? []));
    if (next === undefined) return undefined;
    this.starts += 1;
    if (isExtra) {
      this.startsLeft -= 1;
      this.startedAtMs = nowMs;
    }
    if (this.requested.delete(next.clusterKey)) {
      this.placeAgain(next.clusterKey);
      this.underWay.set(next.clusterKey, nowMs);
      this.begunAtMs = nowMs;
    }
    return next;
  }

  private async run(slot: Slot): Promise<void> {
    this.dequeue(slot);
    slot.state = 'running';
    slot.abort = new AbortController();
    const { task, groups } = slot.pending;
    this.running += 1;
    this.options.groups.enter(groups);
    const attempted = await this.options.attempt(task, slot.failures, slot.abort);
    this.running -= 1;
    delete slot.abort;
    this.settle(slot, attempted);
    this.free(slot.clusterKey);
    this.options.groups.leave(groups);
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
