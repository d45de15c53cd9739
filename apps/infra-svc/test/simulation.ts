import { WorldFailure, type Fact } from '@fairlead/contracts';
import type { Handle, Job } from '@fairlead/event-sourcing/jetstream';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { seededRandom } from '@fairlead/testing';
import type { ProviderKind, ProviderOperation } from '../src/providers/provider.ports.js';
import { RealmFailure } from '../src/realms/realm.ports.js';
import { FakeCloud, FakeProvider } from './fake.provider.js';
import { FakeRealm } from './fake.realm.js';
import { MemoryLog } from './memory.log.js';
import { contextOf, MemoryProcesses, MemorySecrets, startReplica, type Replica } from './memory.service.js';

const STEPS_MAX = 200_000;
const RUNNING_MAX = 4;
const REPLICAS = 2;
/** How often, in one run, everything waits for the next attempt of a deletion. */
const WAITS_MAX = 20;

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

/** A replica, until it dies. */
interface Life {
  readonly holder: string;
  readonly replica: Replica;
  dead: boolean;
}

const nameOf = ({ type, data }: Job): string => String(data['key'] ?? type);

/**
 * Two replicas of infra-svc over one log and one cloud, in an order that a seed decides: jobs are delivered late, twice, to
 * both, in any order; calls are lost on the way there and on the way back; a replica dies before or after any effect.
 */
export class Simulation {
  readonly cloud = new FakeCloud();
  readonly realm = new FakeRealm();
  readonly log = new MemoryLog();
  readonly trace: string[] = [];
  troubles: Troubles;
  private readonly random: () => number;
  private readonly processes = new MemoryProcesses(this.log, (...change) => this.noticed(...change));
  private readonly leases = new MemoryLeases();
  readonly secrets = new MemorySecrets();
  private readonly rowsAreBehind: boolean;
  private readonly lives: Life[] = [];
  private readonly queue: Queued[] = [];
  private running = 0;
  private broken: Error | undefined;
  private begun = 0;

  constructor(seed: number, troubles: Troubles = ROUGH) {
    this.random = seededRandom(seed);
    this.troubles = troubles;
    this.rowsAreBehind = this.chance(0.3);
    for (let index = 0; index < REPLICAS; index += 1) this.lives.push(this.begin());
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  async say(stream: { namespace: string; cluster: string; context: string }, fact: Fact): Promise<void> {
    await this.log.say(stream, fact);
  }

  /** Up to so many steps, or until nothing is left to do. */
  async run(stepsMax = STEPS_MAX): Promise<void> {
    for (let step = 0, waits = 0; step < stepsMax; step += 1) {
      if (this.broken !== undefined) throw this.broken;
      for (const job of this.processes.next()) this.enqueue(job);
      if (this.queue.length === 0 && this.running === 0) {
        const due = waits < WAITS_MAX ? this.processes.fireTimers() : [];
        if (due.length === 0) return;
        waits += 1;
        for (const job of due) this.enqueue(job);
      }
      if (this.queue.length > 0 && this.running < RUNNING_MAX && this.chance(0.7)) this.start();
      await this.pass();
    }
    if (stepsMax === STEPS_MAX) throw new Error(`it never ends; the queue: ${JSON.stringify(this.queue)}`);
  }

  private begin(): Life {
    this.begun += 1;
    const holder = `replica-${this.begun}`;
    const life: Omit<Life, 'replica'> = { holder, dead: false };
    const provider = new FakeProvider(this.cloud, {
      before: (operation) => this.call(life, operation, 'before'),
      after: (operation) => this.call(life, operation, 'after'),
    });
    const kind: ProviderKind = { name: 'lab', open: () => provider };
    const { log, secrets, rowsAreBehind } = this;
    const kinds = new Map([[kind.name, kind]]);
    const wrapHandle = (handle: Handle): Handle => this.unreliable(life, handle);
    const identityProviders = this.realm.provider({
      before: (operation) => this.callRealm(life, `before ${operation}`, 'the request was lost'),
      after: (operation) => this.callRealm(life, `after ${operation}`, 'the answer was lost'),
    });
    const replica = startReplica(
      { log, secrets, rowsAreBehind, kinds, identityProviders, wrapHandle },
      this.leases.of(holder),
    );
    return Object.assign(life, { replica });
  }

  /** kill -9: whatever else it was doing ends at its next call, and its leases end after a while. */
  private end(life: Life): void {
    if (life.dead) return;
    life.dead = true;
    this.leases.expire(life.holder);
    this.lives[this.lives.indexOf(life)] = this.begin();
  }

  /** The replica that reads the cluster's partition notices at once what is withdrawn; the others look from time to time. */
  private noticed(consumer: string, clusterKey: string, state: unknown): void {
    const reading = this.below(REPLICAS);
    this.lives.forEach(({ replica }, index) => {
      if (index === reading) replica.tasks.noticed(consumer, clusterKey, state);
      else if (this.chance(0.2)) void replica.tasks.look(clusterKey);
    });
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

  private async work(queued: Queued): Promise<void> {
    const { job, attempt } = queued;
    const index = this.below(REPLICAS);
    const life = this.lives[index]!;
    this.trace.push(`${nameOf(job)} #${attempt} at ${index}`);
    try {
      const context = contextOf(attempt, new AbortController().signal);
      const result = await life.replica.deliver(job, context);
      if (result !== undefined || life.dead) this.queue.push(queued);
    } catch (error) {
      await this.afterError(queued, life, error);
    }
  }

  private async afterError({ job, attempt }: Queued, life: Life, error: unknown): Promise<void> {
    this.trace.push(`${nameOf(job)} #${attempt}: ${String(error)}`);
    if (error instanceof Crash || life.dead) {
      this.end(life);
      this.queue.push({ job, attempt });
      return;
    }
    if (!(error instanceof WorldFailure)) throw error;
    const nextAttemptAt = error.retryable ? '2026-01-01T01:00:00.000Z' : null;
    try {
      await life.replica.failed(job, { cause: error.toCause(), attempt, attemptsMax: 1_000, nextAttemptAt });
    } catch (again) {
      if (!(again instanceof Crash || again instanceof WorldFailure)) throw again;
      if (again instanceof Crash) this.end(life);
      this.queue.push({ job, attempt }); // Not recorded as failed: requeued, as the kernel does.
      return;
    }
    if (error.retryable) this.queue.push({ job, attempt: attempt + 1 });
  }

  private unreliable(life: Pick<Life, 'dead'>, handle: Handle): Handle {
    return async (decider, stream, command, cause) => {
      await this.pass();
      this.mayCrash(life, 'before it was written');
      const outcome = await handle(decider, stream, command, cause);
      this.mayCrash(life, 'after it was written');
      return outcome;
    };
  }

  private async call(life: Pick<Life, 'dead'>, operation: ProviderOperation, when: 'before' | 'after'): Promise<void> {
    await this.pass();
    this.mayCrash(life, `${when} ${operation}`);
    const { lostRequest, lostAnswer } = this.troubles;
    if (when === 'before' && this.chance(lostRequest)) throw this.lost(operation, 'the request was lost');
    if (when === 'after' && this.chance(lostAnswer)) throw this.lost(operation, 'the answer was lost');
  }

  private async callRealm(life: Pick<Life, 'dead'>, when: string, lost: string): Promise<void> {
    await this.pass();
    this.mayCrash(life, when);
    if (this.chance(this.troubles.lostRequest)) throw new RealmFailure('RealmUnreachable', lost);
  }

  private mayCrash({ dead }: Pick<Life, 'dead'>, when: string): void {
    if (dead || this.chance(this.troubles.crash)) throw new Crash(when);
  }

  private lost(operation: ProviderOperation, message: string): WorldFailure {
    return new WorldFailure({ operation, target: 'lab', message });
  }

  /** Lets others go first, for a while that the seed decides. */
  private async pass(): Promise<void> {
    for (let turns = this.below(3); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  }
}
