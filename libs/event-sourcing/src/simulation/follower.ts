import type { Fact, StoredEvent } from '@fairlead/contracts';
import type { Command } from '../decider.js';
import type { QueuedTask } from '../jetstream/decorators.js';
import { queuedTaskOf } from '../jetstream/queued.task.js';
import type { TaskReaction, Reaction } from '../process.js';
import { clusterKeyOf } from '../projection.js';
import {
  desiredTask,
  reconcilerDecider,
  reconcilerProcess,
  STATE_FACTS,
  type KnownState,
  type Reconciled,
  type Reconciler,
  type Task,
  type TaskFailure,
  type TaskRef,
} from '../reconciler.js';

/** A task that has become desired, or the statement of facts. */
type Waker = Pick<StoredEvent['meta'], 'id' | 'correlationId'>;

/**
 * A reconciler that follows a log, for worlds that play the effects of its tasks in a time of their own: it says what becomes desired
 * with each event and at each moment, and what its service decides. When a task is worked on, and by whom, is the world's.
 */
export class Follower<State, F extends Fact = Fact> {
  private readonly process;
  private readonly kernel;
  /** By cluster, as far as it has read. */
  private readonly states = new Map<string, Reconciled<State>>();
  /** By cluster, the event since which its state waits for a moment. */
  private readonly wakers = new Map<string, Waker>();

  constructor(
    private readonly reconciler: Reconciler<State, Command, F>,
    private readonly service: string,
  ) {
    this.process = reconcilerProcess(reconciler as Reconciler<State>);
    this.kernel = reconcilerDecider(reconciler);
  }

  /** Another one that has come as far, and goes on by itself. States are values: what evolves one makes another. */
  copy(): Follower<State, F> {
    const copy = new Follower(this.reconciler, this.service);
    for (const [key, state] of this.states) copy.states.set(key, state);
    for (const [key, waker] of this.wakers) copy.wakers.set(key, waker);
    return copy;
  }

  /** What becomes desired with an event that it reads. */
  read(event: StoredEvent): readonly QueuedTask[] {
    const clusterKey = clusterKeyOf(event);
    const before = this.states.get(clusterKey);
    const after = this.process.evolve(before ?? this.process.initial, event);
    if (after === undefined) this.states.delete(clusterKey);
    else this.states.set(clusterKey, after);
    if (after?.wakeAt !== before?.wakeAt) this.wakers.set(clusterKey, event.meta);
    return this.asked(clusterKey, this.process.react(after ?? this.process.initial, event));
  }

  /** The first moment at which time alone changes something; null: there is none. */
  get wakeAt(): string | null {
    const moments = [...this.states.values()].flatMap(({ wakeAt }) => wakeAt ?? []);
    return moments.toSorted()[0] ?? null;
  }

  /** For each cluster whose state waits, the moment comes that it waits for. */
  wake(): readonly QueuedTask[] {
    return [...this.states].flatMap(([clusterKey, state]) => {
      const { id = 'wake', correlationId = 'wake' } = this.wakers.get(clusterKey) ?? {};
      if (state.wakeAt === null) return [];
      const after = this.process.woken(state, { now: state.wakeAt, eventId: id, correlationId });
      this.states.set(clusterKey, after);
      return this.asked(clusterKey, after.reactions);
    });
  }

  /** As far as it has read. */
  known(clusterKey = 'default/demo'): KnownState<State> {
    const { state, isPaused } = this.states.get(clusterKey) ?? this.process.initial;
    return isPaused === true ? { state, isPaused } : { state };
  }

  /** The task as it is desired now, by what the whole log says; undefined: it is void. */
  taskOf({ data: ref }: Pick<QueuedTask, 'data'>, now: string, known = this.known()): Task | undefined {
    return desiredTask(this.reconciler as Reconciler<State>, known, ref, now);
  }

  /** Whether it is still asked for, as far as it has read. */
  isAsked({ namespace, cluster, data: { key, seq, now } }: QueuedTask): boolean {
    const origin = this.states.get(`${namespace}/${cluster}`)?.origins[key];
    return origin?.seq === seq && origin.now === now;
  }

  /** What the kernel states of an attempt that failed. */
  failed(ref: TaskRef, failure: TaskFailure, known = this.known()): readonly F[] {
    return this.kernel.decide(known, { type: 'RecordFailure', data: { ref, failure } }) as readonly F[];
  }

  /** The facts that are due. */
  facts(now: string, known = this.known()): readonly F[] {
    return this.kernel.decide(known, { type: STATE_FACTS, data: { now } }) as readonly F[];
  }

  private asked(clusterKey: string, reactions: readonly Reaction[]): readonly QueuedTask[] {
    const { name: process } = this.process;
    const origins = this.states.get(clusterKey)?.origins ?? {};
    return reactions
      .filter((reaction): reaction is TaskReaction => reaction.kind === 'task')
      .flatMap((reaction) => {
        const origin = origins[(reaction.data as TaskRef).key];
        const at = { service: this.service, process, clusterKey };
        return origin === undefined ? [] : [queuedTaskOf(at, origin, reaction)];
      });
  }
}
