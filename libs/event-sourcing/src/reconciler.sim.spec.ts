import { ExternalFailure, type ClusterUid, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { describe, expect, it, jest } from '@jest/globals';
import type { Command, Decider } from './decider.js';
import { makeHandle, type Handle } from './handle.js';
import type { QueuedTask, AttemptContext, RequeueAfter } from './jetstream/decorators.js';
import { queuedTaskOf } from './jetstream/queued.task.js';
import { processConsumer } from './jetstream/consumers.js';
import { TaskRunner, type TaskContext } from './jetstream/task.runner.js';
import { MemoryLeases } from './memory.leases.js';
import { MemoryStore } from './memory.store.js';
import { advance } from './process.js';
import {
  reconcilerProcess,
  STATE_FACTS,
  tasksInState,
  type Reconciled,
  type Reconciler,
  type TaskRef,
} from './reconciler.js';

// Takes seconds on an idle machine; long enough for a loaded one.
jest.setTimeout(600_000);

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
const STEPS_MAX = 20_000;
const ACTIONS = 25;
const ATTEMPTS_MAX = 3;
const REPLICAS = ['a', 'b'];
const UID = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const STREAM = { namespace: 'default', cluster: 'demo' };
const CAUSE = { actor: 'user/sim', correlationId: 'c', causationId: 'c' };

/** Nodes that should join. One named `hang-…` never does: its task runs until it is withdrawn. */
interface Nodes {
  readonly run: number;
  readonly open: readonly NodeName[];
  readonly stuck: readonly NodeName[];
  /** All joined, and that was recorded. */
  readonly isReady: boolean;
  /** Only for the check of the simulation: the kernel has its own. */
  readonly isPaused: boolean;
}

const ABSENT: Nodes = { run: 0, open: [], stuck: [], isReady: false, isPaused: false };

const without = (nodes: readonly NodeName[], gone: NodeName): readonly NodeName[] =>
  nodes.filter((node) => node !== gone);

const evolve = (state: Nodes, event: StoredEvent): Nodes => {
  switch (event.type) {
    case 'ClusterRequested':
      return { ...ABSENT, run: 1 };
    case 'NodeRemovalRequested':
      return { ...state, open: without(state.open, event.data.node), stuck: without(state.stuck, event.data.node) };
    case 'HostReached':
      return { ...state, open: [...without(state.open, event.data.node), event.data.node], isReady: false };
    case 'WorkerJoined':
      return { ...state, open: without(state.open, event.data.node) };
    case 'BootstrapStepFailed': {
      const { node, nextAttemptAt } = event.data;
      return nextAttemptAt === null && node !== undefined ? { ...state, stuck: [...state.stuck, node] } : state;
    }
    case 'ClusterRetryRequested':
      return { ...state, run: state.run + 1, stuck: [] };
    case 'ClusterReady':
      return { ...state, isReady: true };
    case 'ClusterPaused':
      return { ...state, isPaused: true };
    case 'ClusterResumed':
      return { ...state, isPaused: false };
    default:
      return state;
  }
};

type Join = Command<'Join', NodeName>;

const joins: Decider<Nodes, Join, Fact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,
  decide: ({ open }, { data: node }) =>
    open.includes(node) ? [{ type: 'WorkerJoined', data: { uid: UID, node } }] : [],
};

const joining: Reconciler<Nodes, Join> = {
  name: 'joining',
  version: 1,
  context: 'bootstrap',
  decider: joins,
  generation: ({ run }) => String(run),
  tasks: ({ open, stuck }) =>
    open
      .filter((node) => !stuck.includes(node))
      .map((node) => ({ type: 'Join', key: `Join/${node}`, reason: 'it is open', data: { node } })),
  facts: ({ run, open, isReady }) =>
    run > 0 && open.length === 0 && !isReady ? [{ type: 'ClusterReady', data: { uid: UID } }] : [],
  failed: (_state, { data }, { cause, attempt, attemptsMax, nextAttemptAt }) => {
    const node = data['node'] as NodeName;
    return [
      {
        type: 'BootstrapStepFailed',
        data: { uid: UID, step: 'Join', node, cause, attempt, attemptsMax, nextAttemptAt },
      },
    ];
  },
};

const mulberry32 = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

interface Replica {
  readonly name: string;
  readonly runner: TaskRunner;
  dead: boolean;
}

interface Delivery {
  readonly queued: QueuedTask;
  readonly failures: number;
}

interface Working extends Delivery {
  readonly replica: Replica;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Two replicas of a service over one log, one queue and one table of leases, in a seeded order. Tasks arrive late, twice
 * and in any order; replicas die and lose their leases during tasks; a user changes the desired state meanwhile.
 */
class Service {
  readonly store = new MemoryStore();
  readonly violations: string[] = [];
  private readonly random: () => number;
  private readonly leases = new MemoryLeases();
  private readonly process = reconcilerProcess(joining);
  private known: Reconciled<Nodes> | undefined;
  private position = 0;
  private queue: Delivery[] = [];
  private readonly offered = new Set<string>();
  private working: Working[] = [];
  private waiting: { readonly replica: Replica; readonly go: () => void }[] = [];
  private expiring: string[] = [];
  private replicas: Replica[] = [];
  private births = 0;
  /** As stored in the service's database. */
  private readonly failures = new Map<string, number>();
  private actions = ACTIONS;
  /** Which replica's handler is working on a task. */
  private readonly active = new Map<string, { readonly replica: Replica; isLost: boolean }>();
  private broken: unknown;
  /** The cluster is resumed only once no task is running. */
  private waitsForQuiet = false;

  constructor(seed: number) {
    this.random = mulberry32(seed);
    this.replicas = REPLICAS.map(() => this.born());
  }

  async run(): Promise<void> {
    await this.say({ type: 'ClusterRequested', data: { uid: UID } } as Fact);
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const choices = this.choices();
      if (choices.length === 0) return;
      await choices[this.below(choices.length)]?.();
      await settled();
      if (this.broken !== undefined) throw this.broken as Error;
    }
    throw new Error(`it never ends: ${[...this.active.keys()].join(', ')} at work`);
  }

  get state(): Nodes {
    return this.store.events.reduce(evolve, ABSENT);
  }

  private choices(): (() => void | Promise<void>)[] {
    return [
      ...(this.actions > 0 ? [() => this.act()] : this.hanging().map((node) => () => this.remove(node))),
      ...this.resumptions(),
      ...(this.position < this.store.events.length ? [() => this.read(), () => this.read()] : []),
      ...(this.queue.length > 0 ? [() => this.deliver(), () => this.deliver()] : []),
      ...this.waiting.map((waiting) => () => this.letGo(waiting)),
      ...(this.active.size > 0
        ? this.replicas.map(
            ({ runner }) =>
              () =>
                this.look(runner),
          )
        : []),
      ...this.expiring.map((name) => () => this.expire(name)),
      ...(this.actions > 0 && this.working.length > 0 && this.chance(0.1)
        ? [() => this.kill(), () => this.loseLeases(), () => this.redeliver()]
        : []),
    ];
  }

  private hanging(): readonly NodeName[] {
    return this.state.open.filter((node) => node.startsWith('hang'));
  }

  private async act(): Promise<void> {
    this.actions -= 1;
    const node = `${this.chance(0.3) ? 'hang' : 'w'}-${this.below(4)}` as NodeName;
    if (this.chance(0.5))
      return this.say({ type: 'HostReached', data: { uid: UID, node, hostKey: null, attempts: 1 } } as never);
    if (this.chance(0.4)) return this.remove(node);
    if (this.chance(0.5)) return this.pause();
    return this.say({ type: 'ClusterRetryRequested', data: { uid: UID } });
  }

  private async pause(): Promise<void> {
    if (this.state.isPaused) return;
    this.waitsForQuiet = this.chance(0.5);
    await this.say({ type: 'ClusterPaused', data: { uid: UID, reason: '' } });
  }

  private resumptions(): readonly (() => Promise<void>)[] {
    if (!this.state.isPaused || (this.waitsForQuiet && this.active.size > 0)) return [];
    return [() => this.say({ type: 'ClusterResumed', data: { uid: UID, reason: '' } })];
  }

  private remove(node: NodeName): Promise<void> {
    return this.say({ type: 'NodeRemovalRequested', data: { uid: UID, node } } as never);
  }

  private async say(fact: Fact): Promise<void> {
    const own = this.store.events.filter(({ meta }) => meta.context === 'request');
    const seq = own.at(-1)?.meta.seq ?? 0;
    await this.store.append(
      { ...STREAM, context: 'request' },
      { seq, streamVersion: own.length, hash: '' },
      [fact],
      CAUSE,
    );
  }

  /** The consumer: a crash before the commit makes it read the event again. */
  private read(): void {
    const event = this.store.events[this.position];
    if (event === undefined) return;
    const { states, poisons } = advance(this.process, () => this.known, [event]);
    if (poisons[0] !== undefined) throw new Error(poisons[0].error);
    if (this.chance(0.05)) return;
    this.position += 1;
    const changed = states.get('default/demo');
    if (changed !== undefined) this.known = changed.state;
    for (const queued of this.desired()) if (!this.offered.has(queued.id)) this.offer(queued);
    // Only one replica has the consumer.
    this.replicas[0]?.runner.noticed(processConsumer(joining), 'default/demo', this.known);
  }

  private desired(): readonly QueuedTask[] {
    if (this.known === undefined) return [];
    const at = { service: 'sim', process: this.process.name, clusterKey: 'default/demo' };
    return tasksInState(joining, this.known).map(({ origin, reaction }) => queuedTaskOf(at, origin, reaction));
  }

  private offer(queued: QueuedTask): void {
    this.offered.add(queued.id);
    this.queue.push({ queued, failures: this.failures.get(queued.id) ?? 0 });
  }

  /** The replica with the tasks has ended: its successor creates them again from the state of the cluster. */
  private restore(): void {
    this.queue = [];
    for (const queued of this.desired()) if ((this.failures.get(queued.id) ?? 0) < ATTEMPTS_MAX) this.offer(queued);
  }

  private deliver(): void {
    const [delivery] = this.queue.splice(this.below(this.queue.length), 1);
    const replica = this.replicas[this.below(this.replicas.length)];
    if (delivery === undefined || replica === undefined) return;
    const working = { ...delivery, replica };
    this.working.push(working);
    this.work(working)
      .then((again) => {
        if (again !== undefined && !replica.dead) this.queue.push(again);
      })
      .catch((error: unknown) => {
        this.broken ??= error;
      })
      .finally(() => {
        this.working = this.working.filter((other) => other !== working);
      });
  }

  /** Like the queued worker. Returns what must be delivered again. */
  private async work({ queued, failures, replica }: Working): Promise<Delivery | undefined> {
    const signal = new AbortController().signal;
    const context: AttemptContext = {
      attempt: failures + 1,
      signal,
    };
    try {
      const result =
        queued.type === STATE_FACTS
          ? await replica.runner.stateFacts(queued)
          : await replica.runner.run(queued, context, {}, (task) =>
              this.join(task as TaskContext<Nodes>, queued, replica),
            );
      return result === undefined ? undefined : { queued, failures };
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      const isLast = failures + 1 >= ATTEMPTS_MAX;
      const nextAttemptAt = isLast ? null : '2026-01-01T01:00:00.000Z';
      const failure = { cause: error.toCause(), attempt: failures + 1, attemptsMax: ATTEMPTS_MAX, nextAttemptAt };
      await replica.runner.recordFailure(queued, failure);
      this.failures.set(queued.id, failures + 1);
      return isLast ? undefined : { queued, failures: failures + 1 };
    }
  }

  private async join(
    task: TaskContext<Nodes>,
    queued: QueuedTask,
    replica: Replica,
  ): Promise<RequeueAfter | undefined> {
    const node = task.data['node'] as NodeName;
    this.began(task, queued);
    const here = { replica, isLost: false };
    this.active.set(task.key, here);
    try {
      for (let turns = 0; turns < 3 || node.startsWith('hang'); turns += 1) {
        await this.turn(replica);
        task.signal.throwIfAborted();
      }
      if (this.chance(0.1)) return task.requeueAfter(1, 'not yet');
      if (this.chance(0.3)) throw new ExternalFailure({ operation: 'join', target: node, message: 'no answer' });
      if (here.isLost) this.violations.push(`${task.key} goes on without its lease`);
      await task.record({ type: 'Join', data: node });
      return undefined;
    } finally {
      this.active.delete(task.key);
    }
  }

  private began(task: TaskContext<Nodes>, queued: QueuedTask): void {
    const { generation } = queued.data as TaskRef;
    const node = task.data['node'] as NodeName;
    if (task.state.isPaused) this.violations.push(`${task.key} begins while the cluster is paused`);
    if (this.active.has(task.key)) this.violations.push(`${task.key} runs twice at the same time`);
    if (generation !== String(task.state.run)) this.violations.push(`${task.key} of an earlier generation runs`);
    const last = this.store.events.findLast(
      ({ type, data }) => type !== 'BootstrapStepFailed' && 'node' in data && data.node === node,
    );
    if (last?.type === 'WorkerJoined') this.violations.push(`${task.key} does not see what the holder before stated`);
  }

  private async look(runner: TaskRunner): Promise<void> {
    void runner.look('default/demo');
  }

  private expire(name: string): void {
    this.expiring = this.expiring.filter((other) => other !== name);
    this.leases.expire(name);
  }

  /** kill -9. Its tasks are created again from the state, and its leases expire some time later. */
  private kill(): void {
    const replica = this.replicas[this.below(this.replicas.length)];
    if (replica === undefined) return;
    replica.dead = true;
    this.waiting = this.waiting.filter((waiting) => !waiting.replica.dead);
    this.working = this.working.filter((one) => !one.replica.dead);
    this.restore();
    for (const [key, at] of [...this.active]) if (at.replica.dead) this.active.delete(key);
    this.expiring.push(replica.name);
    this.replicas = this.replicas.map((other) => (other.dead ? this.born() : other));
  }

  private loseLeases(): void {
    const replica = this.replicas[this.below(this.replicas.length)];
    if (replica === undefined) return;
    this.leases.lose(replica.name);
    for (const at of this.active.values()) if (at.replica === replica) at.isLost = true;
  }

  /** The queue considers a slow worker dead. */
  private redeliver(): void {
    const one = this.working[this.below(this.working.length)];
    if (one !== undefined) this.queue.push(one);
  }

  private letGo(waiting: { readonly go: () => void }): void {
    this.waiting = this.waiting.filter((other) => other !== waiting);
    waiting.go();
  }

  private turn(replica: Replica): Promise<void> {
    return new Promise((go) => {
      if (!replica.dead) this.waiting.push({ replica, go });
    });
  }

  private born(): Replica {
    this.births += 1;
    const name = `${this.births}`;
    const handle = makeHandle(this.store);
    const inTurn: Handle = async (...args) => {
      await this.turn(made);
      const outcome = await handle(...args);
      await this.turn(made);
      return outcome;
    };
    const runner = new TaskRunner({
      reconcilers: [joining],
      handle: inTurn,
      leases: this.leases.of(name),
      now: () => new Date('2026-01-01T00:00:00.000Z'),
      log: { warn: () => undefined },
    });
    const made: Replica = { name, runner, dead: false };
    return made;
  }

  private chance(probability: number): boolean {
    return this.random() < probability;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }
}

describe('tasks of a reconciler under crashes, redelivery and twins', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'seed %i: none is lost, none runs twice at the same time, void ones do not run, and withdrawn and paused ones are aborted',
    async (seed) => {
      const service = new Service(seed);
      await service.run();
      const { open, stuck, isReady } = service.state;
      expect([seed, service.violations]).toEqual([seed, []]);
      // An open node that is not stuck would be a lost task; a withdrawn task that is not aborted would never end.
      expect([seed, open.filter((node) => !stuck.includes(node))]).toEqual([seed, []]);
      expect([seed, isReady]).toEqual([seed, open.length === 0]);
    },
  );
});
