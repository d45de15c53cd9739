import { wordsOf, type StoredEvent } from '@fairlead/contracts';
import { OnEvent } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Injectable, Logger } from '@nestjs/common';
import { MachinesLog, type ClusterJob } from './machines.log.effects.js';

/** A deletion that another replica hears of is noticed here after this time at the latest. */
const LOOK_EVERY_MS = 5_000;

/** Why work was abandoned: no one wants its result any more. Not a failure. */
export class NoLongerDesired extends Error {
  constructor(uid: string) {
    super(`the cluster ${uid} is being deleted`);
    this.name = 'NoLongerDesired';
  }
}

/** Ends long work on a cluster soon after someone asked for its deletion. */
@Injectable()
export class Requests {
  private readonly log = new Logger('requests');
  private readonly running = new Map<string, AbortController>();

  constructor(@Inject(MachinesLog) private readonly machines: MachinesLog) {}

  /** No one wants the cluster any more. */
  async deletionRequested({ data: { uid } }: StoredEvent<'ClusterDeletionRequested'>): Promise<void> {
    this.running.get(uid)?.abort(new NoLongerDesired(uid));
  }

  /** Runs work with a signal that aborts when the cluster must go; then the work counts as done. */
  async whileDesired<T>(
    job: ClusterJob,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { uid } = job.data;
    const unwanted = new AbortController();
    this.running.set(uid, unwanted);
    const watch = setInterval(() => void this.check(job, unwanted), LOOK_EVERY_MS);
    try {
      return await work(AbortSignal.any([signal, unwanted.signal]));
    } catch (error) {
      if (!unwanted.signal.aborted) throw error;
      return undefined;
    } finally {
      clearInterval(watch);
      this.running.delete(uid);
    }
  }

  private async check(job: ClusterJob, unwanted: AbortController): Promise<void> {
    try {
      const { status } = await this.machines.look(job);
      if (status === 'leaving' || status === 'absent') unwanted.abort(new NoLongerDesired(job.data.uid));
    } catch (error) {
      this.log.debug(`cannot look at ${job.cluster} now: ${wordsOf(error)}`);
    }
  }
}

/** Hears of the request. Apart from what it ends, because Nest injects no controllers. */
@Controller()
export class RequestsEvents {
  constructor(@Inject(Requests) private readonly requests: Requests) {}

  @OnEvent('ClusterDeletionRequested')
  deletionRequested(event: StoredEvent<'ClusterDeletionRequested'>): Promise<void> {
    return this.requests.deletionRequested(event);
  }
}
