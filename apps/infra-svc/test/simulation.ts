import { WorldFailure, type Fact } from '@fairlead/contracts';
import type { Handle, Job } from '@fairlead/event-sourcing/jetstream';
import { seededRandom } from '@fairlead/testing';
import type { ProviderKind, ProviderOperation } from '../src/providers/provider.ports.js';
import { FakeCloud, FakeProvider } from './fake.provider.js';
import { MemoryLog } from './memory.log.js';
import {
  contextOf,
  MemoryLocks,
  MemoryProcesses,
  MemorySecrets,
  startReplica,
  type Replica,
  type Shared,
} from './memory.service.js';

const STEPS_MAX = 200_000;
const RUNNING_MAX = 4;
const REPLICAS = 2;

/** The process dies here: nothing after this line happens, and the job is delivered again. */
class Crash extends Error {}

/** How often things go wrong, of one. */
export interface Troubles {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly crash: number;
  readonly twin: number;
}

export const ROUGH: Troubles = { lostRequest: 0.05, lostAnswer: 0.05, crash: 0.04, twin: 0.2 };
export const CALM: Troubles = { lostRequest: 0, lostAnswer: 0, crash: 0, twin: 0 };

interface Queued {
  readonly job: Job;
  readonly attempt: number;
}

/**
 * Two replicas of infra-svc over one log and one cloud, in an order that a seed decides: jobs are delivered late, twice, to
 * both, in any order; calls are lost on the way there and on the way back; a replica dies before or after any effect.
 */
export class Simulation {
  readonly cloud = new FakeCloud();
  readonly log = new MemoryLog();
  readonly trace: string[] = [];
  troubles: Troubles;
  private readonly random: () => number;
  private readonly processes = new MemoryProcesses(this.log);
  private readonly shared: Shared;
  private readonly replicas: Replica[] = [];
  private readonly queue: Queued[] = [];
  private running = 0;
  private broken: Error | undefined;

  constructor(seed: number, troubles: Troubles = ROUGH) {
    this.random = seededRandom(seed);
    this.troubles = troubles;
    const provider = new FakeProvider(this.cloud, {
      before: (operation) => this.before(operation),
      after: (operation) => this.after(operation),
    });
    const kind: ProviderKind = { name: 'lab', open: () => provider };
    this.shared = {
      log: this.log,
      secrets: new MemorySecrets(),
      locks: new MemoryLocks(),
      kinds: new Map([[kind.name, kind]]),
      rowsAreBehind: this.chance(0.3),
      wrapHandle: (handle) => this.unreliable(handle),
    };
    for (let index = 0; index < REPLICAS; index += 1) this.replicas.push(startReplica(this.shared));
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  async say(stream: { namespace: string; cluster: string; context: string }, fact: Fact): Promise<void> {
    const event = await this.log.say(stream, fact);
    if (event.type !== 'ClusterDeletionRequested') return;
    // The replica whose consumer has the partition hears of it; the other one looks at the log from time to time.
    if (this.chance(0.5)) await this.replicas[this.below(REPLICAS)]!.requests.deletionRequested(event);
  }

  /** Up to so many steps, or until nothing is left to do. */
  async run(stepsMax = STEPS_MAX): Promise<void> {
    for (let step = 0; step < stepsMax; step += 1) {
      if (this.broken !== undefined) throw this.broken;
      for (const job of this.processes.next()) this.enqueue(job);
      if (this.queue.length === 0 && this.running === 0) return;
      if (this.queue.length > 0 && this.running < RUNNING_MAX && this.chance(0.7)) this.start();
      await this.pass();
    }
    if (stepsMax === STEPS_MAX) throw new Error(`it never ends; the queue: ${JSON.stringify(this.queue)}`);
  }

  private enqueue(job: Job): void {
    this.queue.push({ job, attempt: 1 });
    if (this.chance(this.troubles.twin)) this.queue.push({ job, attempt: 1 });
  }

  private start(): void {
    const [queued] = this.queue.splice(this.below(this.queue.length), 1);
    this.running += 1;
    this.work(queued!)
      .catch((error: unknown) => {
        this.broken = error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.running -= 1;
      });
  }

  private async work({ job, attempt }: Queued): Promise<void> {
    const index = this.below(REPLICAS);
    this.trace.push(`${job.type} #${attempt} at ${index}`);
    try {
      const context = contextOf(attempt, new AbortController().signal);
      const result = await this.replicas[index]!.deliver(job, context);
      if (result !== undefined) this.queue.push({ job, attempt });
    } catch (error) {
      await this.afterError({ job, attempt }, index, error);
    }
  }

  private async afterError({ job, attempt }: Queued, index: number, error: unknown): Promise<void> {
    this.trace.push(`${job.type} #${attempt}: ${String(error)}`);
    if (error instanceof Crash) {
      this.replicas[index] = startReplica(this.shared);
      this.queue.push({ job, attempt });
      return;
    }
    if (!(error instanceof WorldFailure)) throw error;
    const nextAttemptAt = error.retryable ? '2026-01-01T01:00:00.000Z' : null;
    try {
      await this.replicas[index]!.failed(job, { cause: error.toCause(), attempt, attemptsMax: 1_000, nextAttemptAt });
    } catch (again) {
      if (!(again instanceof Crash || again instanceof WorldFailure)) throw again;
      this.queue.push({ job, attempt }); // Not recorded as failed: given back, as the kernel does.
      return;
    }
    if (error.retryable) this.queue.push({ job, attempt: attempt + 1 });
  }

  private unreliable(handle: Handle): Handle {
    return async (decider, stream, command, cause) => {
      await this.pass();
      if (this.chance(this.troubles.crash)) throw new Crash('before it was written');
      const outcome = await handle(decider, stream, command, cause);
      if (this.chance(this.troubles.crash)) throw new Crash('after it was written');
      return outcome;
    };
  }

  private async before(operation: ProviderOperation): Promise<void> {
    await this.pass();
    if (this.chance(this.troubles.crash)) throw new Crash(`before ${operation}`);
    if (this.chance(this.troubles.lostRequest)) throw this.lost(operation, 'the request was lost');
  }

  private async after(operation: ProviderOperation): Promise<void> {
    await this.pass();
    if (this.chance(this.troubles.crash)) throw new Crash(`after ${operation}`);
    if (this.chance(this.troubles.lostAnswer)) throw this.lost(operation, 'the answer was lost');
  }

  private lost(operation: ProviderOperation, message: string): WorldFailure {
    return new WorldFailure({ operation, target: 'lab', message });
  }

  /** Lets others go first, for a while that the seed decides. */
  private async pass(): Promise<void> {
    for (let turns = this.below(3); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  }
}
