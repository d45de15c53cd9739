import { STREAMS, wordsOf } from '@fairlead/contracts';
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type Consumer,
  type ConsumerMessages,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import type { ConcurrencyGroups } from '../concurrency.groups.js';
import type { Job } from './decorators.js';
import { Places } from './places.js';
import type { JobsProgress } from './jobs.progress.js';
import { fetchWindow } from './fetch.window.js';
import type { JobRunner, Settled } from './job.runner.js';
import { WakeSignal } from './wake.signal.js';
import type { PartitionLog } from './partition.consumer.js';

export interface JobsOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly runner: JobRunner;
  readonly concurrency: number;
  readonly groups: ConcurrencyGroups;
  /** Without a sign of life from its worker for so long, a job goes to another one. */
  readonly ackWaitMs: number;
  readonly log: PartitionLog;
  readonly progress: JobsProgress;
}

const RETRY_MS = 250;
const DRAIN_MS = 10_000;
/** How often the queue is looked at while no job can be taken. */
const LOOK_EVERY_MS = 30_000;
const REASON_LENGTH_MAX = 200;

/** undefined: it is not one of ours. */
const jobIn = (message: JsMsg): Job | undefined => {
  try {
    const job = message.json<Partial<Job> | null>();
    return typeof job?.id === 'string' && typeof job.type === 'string' ? (job as Job) : undefined;
  } catch {
    return undefined;
  }
};

interface Held {
  /** Its last delivery: what an earlier one answers counts for nothing. */
  message: JsMsg;
  readonly abort: AbortController;
}

/**
 * Works on a service's queued jobs: a durable pull consumer on a work queue, shared by all replicas. While a handler runs, the
 * server is notified; a failure requeues the job with a delay; the last one sends it to the dead letters.
 */
export class JobsWorker {
  /** By sequence of the queue, those that wait for a group included. */
  private readonly held = new Map<number, Held>();
  private readonly places: Places;
  private running = false;
  private loop: Promise<void> | undefined;
  /** What waits for jobs. */
  private taking: ConsumerMessages | undefined;
  private ticker: NodeJS.Timeout | undefined;
  private lookedAtMs = 0;
  /** Rings when a job has ended, and when there must be no more. */
  private readonly slotFree = new WakeSignal();

  constructor(private readonly options: JobsOptions) {
    this.places = new Places({ ...options, onFree: () => this.slotFree.ring() });
  }

  start(): void {
    this.running = true;
    this.loop = this.run();
    void this.takeAgainOnReconnect();
  }

  /** Aborts what runs, and waits a while for its end; what is unfinished goes to another replica or to the next start. */
  async stop(): Promise<void> {
    this.running = false;
    this.taking?.stop();
    this.slotFree.ring();
    const deadline = Date.now() + DRAIN_MS;
    this.places.giveBack();
    for (const { abort } of this.held.values()) abort.abort(new Error('the service is stopping'));
    while (this.held.size > 0 && Date.now() < deadline) await this.slotFree.pause(RETRY_MS);
    this.stopTicking();
    await this.loop;
  }

  private async run(): Promise<void> {
    let consumer: Consumer | undefined;
    while (this.running) {
      try {
        consumer ??= await this.consumer();
        const { free } = this.places;
        if (free === 0) {
          await this.lookAtQueue(consumer);
          await this.slotFree.pause(RETRY_MS);
        } else await this.take(consumer, free);
      } catch (error) {
        if (!this.running) return;
        consumer = undefined;
        this.options.log.warn(`jobs: ${wordsOf(error)}; trying again`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** A fetch waits at the server, and is gone with the connection. */
  private async takeAgainOnReconnect(): Promise<void> {
    for await (const { type } of this.options.nc.status()) if (type === 'reconnect') this.taking?.stop();
  }

  /** While all places are taken, no fetch says how many jobs wait. */
  private async lookAtQueue(consumer: Consumer): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.lookedAtMs < LOOK_EVERY_MS) return;
    this.lookedAtMs = nowMs;
    this.options.progress.waiting((await consumer.info()).num_pending);
  }

  private async consumer(): Promise<Consumer> {
    const { nc, service, ackWaitMs } = this.options;
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    await jsm.consumers.add(STREAMS.jobs, {
      durable_name: service,
      filter_subject: `job.${service}.>`,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: 10_000,
    });
    return jetstream(nc, { checkAPI: false } as object).consumers.get(STREAMS.jobs, service);
  }

  private async take(consumer: Consumer, free: number): Promise<void> {
    const messages = await consumer.fetch({ max_messages: free, ...fetchWindow() });
    this.taking = messages;
    if (!this.running) messages.stop();
    let left = 0;
    for await (const message of messages) {
      left = message.info.pending;
      if (this.running) this.accept(message);
      else message.nak();
    }
    this.taking = undefined;
    // With a place left, the server has given all that it has.
    this.options.progress.waiting(this.places.free > 0 ? 0 : left);
  }

  private accept(message: JsMsg): void {
    const known = this.held.get(message.seq);
    if (known !== undefined) {
      // It was delivered again because this process was too busy to say that it works on it.
      known.message = message;
      return;
    }
    const held: Held = { message, abort: new AbortController() };
    this.hold(message.seq, held);
    const job = jobIn(message);
    if (job === undefined) {
      void this.work(held, () => this.options.runner.buryText(message.string()));
      return;
    }
    const giveBack = (): void => {
      this.release(message.seq);
      held.message.nak();
    };
    this.places.take({ job, giveBack, run: () => this.work(held, () => this.settle(job, held.abort)) });
  }

  /** Extends the ack wait of every held job; without any, nothing wakes up. */
  private hold(seq: number, held: Held): void {
    this.held.set(seq, held);
    this.ticker ??= setInterval(
      () => this.held.forEach(({ message }) => message.working()),
      this.options.ackWaitMs / 3,
    );
  }

  private release(seq: number): void {
    this.held.delete(seq);
    if (this.held.size === 0) this.stopTicking();
  }

  private stopTicking(): void {
    clearInterval(this.ticker);
    this.ticker = undefined;
  }

  private async work(held: Held, settle: () => Promise<Settled>): Promise<void> {
    try {
      const settled = await settle();
      await this.answer(held.message, settled);
    } catch (error) {
      this.options.log.warn(`a job is given back: ${wordsOf(error)}`);
      held.message.nak(RETRY_MS * 4);
    } finally {
      this.release(held.message.seq);
    }
  }

  private async settle(job: Job, abort: AbortController): Promise<Settled> {
    const { runner } = this.options;
    const failures = (await runner.failuresOf([job.id])).get(job.id) ?? 0;
    return runner.run({ job, failures, abort, isStopping: () => !this.running });
  }

  private async answer(message: JsMsg, settled: Settled): Promise<void> {
    switch (settled.outcome) {
      case 'done':
        await message.ackAck();
        return;
      case 'buried':
        message.term(settled.reason.slice(0, REASON_LENGTH_MAX));
        return;
      case 'later':
      case 'failed':
        message.nak(settled.delayMs);
    }
  }
}
