import type { Cause as WorldCause, Fact, StoredEvent } from '@fairlead/contracts';
import { pauseAfter } from '@fairlead/domain';
import { nothing, type Command, type Decider } from './decider.js';
import {
  cancelTimer,
  taskReaction,
  timer,
  type TaskReaction,
  type JsonObject,
  type Process,
  type Reaction,
  type Wake,
} from './process.js';

/** One thing to do now, and why. Its handler is the method decorated with `OnTask` of its type. */
export interface Task {
  readonly type: string;
  /**
   * Identifies the task among all of its cluster and service, e.g. `JoinWorker/w-1`. While a key stays desired, its
   * task is published once, and at most one handler works on it at a time.
   */
  readonly key: string;
  readonly reason: string;
  /**
   * What the handler needs besides the state. It is never queued: a handler gets the value that is current when it
   * starts.
   */
  readonly data: JsonObject;
  /** Its concurrency groups: services limit how many tasks of a group run at a time. Absent: none. */
  readonly groups?: readonly string[];
  /**
   * Resources that an exclusive task touches, e.g. `request/r-1`: it waits only for exclusive tasks that share a lock,
   * and for those without locks. Constant while its key is desired. Absent: it waits for every exclusive task of its
   * cluster.
   */
  readonly locks?: readonly string[];
}

/** The parts of a task that are known before its state is read. */
type Admission = Pick<Task, 'groups' | 'locks'>;

const admissionOf = ({ groups, locks }: Admission): Admission => ({
  ...(groups === undefined ? {} : { groups }),
  ...(locks === undefined ? {} : { locks }),
});

/** A failed attempt of a task. */
export interface TaskFailure {
  readonly cause: WorldCause;
  readonly attempt: number;
  readonly attemptsMax: number;
  /**
   * null: it was the last one. The task is not retried, unless it is withdrawn and desired again, or a new generation
   * begins.
   */
  readonly nextAttemptAt: string | null;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * Pure. A service's state of one cluster, and every task that is currently desired. From it derive the process that
 * publishes tasks (`reconcilerProcess`), the timers that wake it, and whether a task is still desired (`TaskRunner`).
 *
 * While a cluster is paused, none of its tasks is desired and no fact is due, unless the reconciler `worksInPause`.
 * When it is resumed, all tasks that are then desired are published. A reconciler with time limits folds
 * `ClusterResumed`, so that they restart.
 *
 * How to move a service to it:
 * 1. `decider` is the one whose state determines the tasks. It must read the whole cluster (`reads: 'cluster'`), and its
 *    `evolve` must return `initial` itself, the same object, once the cluster is gone.
 * 2. `tasks` is the planner. It must not leave out what runs already: a task that is missing is withdrawn, and its handler's signal
 *    aborts. A task that ended stays in the list only as long as another event may end it; it is not published again meanwhile.
 * 3. Facts that need no work are not tasks: return them from `facts`. They are computed again from the log before they are
 *    stated, so `facts` must return nothing once they are.
 * 4. Handlers become `@OnTask('JoinWorker', { attemptsMax: 3, timeoutMs: 20 * 60_000 })` methods of a controller that take a
 *    `TaskContext`. They ensure an effect, then `record` it by a command of the decider.
 * 5. What a failed attempt states comes from `failed`.
 * 6. Put the reconciler under `reconcilers` of the service's definition.
 * 7. Its simulation is a world on `@fairlead/event-sourcing/simulation`: a `Simulation` that runs its handlers, or one with a time of
 *    its own that plays their effects for a `Follower`.
 */
export interface Reconciler<State, C extends Command = Command, F extends Fact = Fact> {
  readonly name: string;
  /** Increment when the shape of State, or of Reconciled, changes: the state is then folded again from the log. */
  readonly version: number;
  /** The stream of each cluster to which its facts are appended. */
  readonly context: string;
  readonly decider: Decider<State, C, F>;
  /** All desired tasks. `now` is RFC 3339: the time of the last event, or the time returned by `wakeAt`. */
  tasks(state: State, now: string): readonly Task[];
  /**
   * E.g. uid and run. When it changes, every task of the previous generation is void, and all desired tasks are
   * published again.
   */
  generation(state: State): string;
  /** Facts that follow from the state and must be recorded. */
  facts?(state: State, now: string): readonly F[];
  /** The next time after `now` at which `tasks` or `facts` change without an event; null: none. */
  wakeAt?(state: State, now: string): string | null;
  /** The facts of a failed attempt. Not called for a task that is no longer desired, nor for a follow-up. */
  failed?(state: State, task: Task, failure: TaskFailure): readonly F[];
  /**
   * Its tasks are desired in a paused cluster, too: users request them at that moment, and they change nothing by
   * themselves.
   */
  readonly worksInPause?: true;
  /**
   * Tasks whose end no event must record, such as the cleanup of a deleted cluster. Each follows from one event or one
   * wake-up, and is kept beside the state of the cluster until its handler has ended or a later one with its key
   * replaces it. `state` is the one after the event. A failed attempt is recorded only by the service's own
   * FOLLOW_UP_FAILURES.
   */
  followUps?(state: State, moment: Moment): readonly Task[];
  /** Whether this event makes a follow-up obsolete. */
  isPointless?(followUp: Task, event: StoredEvent): boolean;
}

/** When follow-ups begin: with an event, or at a time returned by `wakeAt`. */
export interface Moment {
  readonly event?: StoredEvent;
  /** RFC 3339. */
  readonly now: string;
}

/** Any reconciler, for code that only passes its state around. */
export type AnyReconciler = Reconciler<unknown>;

/** The queued part of a task: its key, and where in the log it became desired. */
export interface TaskRef {
  readonly [key: string]: unknown;
  readonly reconciler: string;
  readonly generation: string;
  readonly key: string;
  /** A check whether it is desired must have read the log up to here, and assume at least this time. */
  readonly seq: number;
  readonly now: string;
  /** Their values when it became desired. */
  readonly groups?: readonly string[];
  readonly locks?: readonly string[];
  /** Only for a follow-up, which the state of the cluster does not determine. */
  readonly followUp?: Task;
}

/** The task that records `facts`. */
export const STATE_FACTS = 'StateFacts';

/** A service's state of a cluster, and whether the cluster is paused. */
export interface KnownState<State> {
  readonly state: State;
  /** Absent: not paused. */
  readonly isPaused?: true;
}

/** The event since which a task is desired, from which the task's id and cause derive. */
export interface Origin {
  readonly type: string;
  readonly eventId: string;
  readonly correlationId: string;
  readonly seq: number;
  /** RFC 3339. */
  readonly now: string;
  /** Its index among the event's reactions. */
  readonly index: number;
  /** As in TaskRef. */
  readonly groups?: readonly string[];
  readonly locks?: readonly string[];
  readonly followUp?: Task;
}

/** The reconciler's stored state of one cluster: what is known, what is desired, and what the last event requests. */
export interface Reconciled<State> extends KnownState<State> {
  /** Sequence of its last change. */
  readonly seq: number;
  /** Sequence at which the cluster began. */
  readonly firstSeq: number;
  /** By key: every desired task, and the task that records due facts. */
  readonly origins: Readonly<Record<string, Origin>>;
  readonly generation: string;
  /** Keys of the desired tasks. */
  readonly desired: readonly string[];
  readonly wakeAt: string | null;
  readonly reactions: readonly Reaction[];
  /** A tombstone: the cluster is forgotten except for its follow-ups. Its state is the initial one. */
  readonly isGone?: true;
}

/** The key of a reconciler's timer, one per cluster. */
export const WAKE = 'wake';

/** Only whether a cluster is paused matters here. */
const PAUSED = { reason: '', since: '' };

/** Returns the same object if the event changes nothing. */
const knownAfter = <State>(
  { decider, worksInPause }: Pick<Reconciler<State>, 'decider' | 'worksInPause'>,
  before: KnownState<State>,
  event: StoredEvent,
) => {
  const state = decider.evolve(before.state, event);
  const wasPaused = before.isPaused === true;
  const isPaused = worksInPause !== true && pauseAfter(wasPaused ? PAUSED : null, event) !== null;
  if (state === before.state && isPaused === wasPaused) return before;
  return isPaused ? { state, isPaused } : { state };
};

/** All desired tasks of the cluster; none while it is paused, unless the reconciler works in a pause. */
export const desiredTasks = <State>(
  reconciler: Reconciler<State>,
  { state, isPaused }: KnownState<State>,
  now: string,
): readonly Task[] => (isPaused === true ? [] : reconciler.tasks(state, now));

const laterOf = (one: string, other: string): string => (one > other ? one : other);

/** The currently desired task; undefined: it is withdrawn, of an earlier generation, or its cluster is paused. */
export const desiredTask = <State>(
  reconciler: Reconciler<State>,
  known: KnownState<State>,
  { generation, key, now: since, followUp }: TaskRef,
  now: string,
): Task | undefined => {
  if (followUp !== undefined) return followUp;
  if (reconciler.generation(known.state) !== generation) return undefined;
  return desiredTasks(reconciler, known, laterOf(since, now)).find((task) => task.key === key);
};

type TaskOrigin = Pick<TaskRef, 'seq' | 'now'>;

type TaskName = Pick<Task, 'type' | 'key' | 'groups' | 'locks'>;

const publish = (
  reconciler: { readonly name: string },
  generation: string,
  { type, key, followUp, ...asked }: TaskName & Pick<TaskRef, 'followUp'>,
  { seq, now }: TaskOrigin,
): TaskReaction => {
  const at = { reconciler: reconciler.name, key, seq, now, ...admissionOf(asked) };
  const ref: TaskRef = followUp === undefined ? { ...at, generation } : { ...at, generation: '', followUp };
  return taskReaction(type, ref);
};

const dueFacts = <State, F extends Fact>(
  reconciler: Reconciler<State, Command, F>,
  { state, isPaused }: KnownState<State>,
  now: string,
): readonly F[] => (isPaused === true ? nothing : (reconciler.facts?.(state, now) ?? nothing));

const FACTS: TaskName = { type: STATE_FACTS, key: STATE_FACTS };

/** The task that records facts, if any are due. */
const factsOf = <State>(reconciler: Reconciler<State>, known: KnownState<State>, now: string): readonly TaskName[] =>
  dueFacts(reconciler, known, now).length === 0 ? [] : [FACTS];

const wakeOf = <State>(
  reconciler: Reconciler<State>,
  { state, isPaused }: KnownState<State>,
  now: string,
): string | null => (isPaused === true ? null : (reconciler.wakeAt?.(state, now) ?? null));

const wakeReactions = (before: string | null, after: string | null): readonly Reaction[] => {
  if (before === after) return [];
  return after === null ? [cancelTimer(WAKE)] : [timer(WAKE, after)];
};

/** The position in the log, and the cause. */
interface Occasion extends TaskOrigin {
  readonly eventId: string;
  readonly correlationId: string;
}

const occasionOf = ({ meta }: StoredEvent): Occasion => ({
  ...{ seq: meta.seq, now: meta.time },
  ...{ eventId: meta.id, correlationId: meta.correlationId },
});

type NewTask = TaskName & Pick<TaskRef, 'followUp'>;

const originsOf = (tasks: readonly NewTask[], occasion: Occasion): readonly (readonly [string, Origin])[] =>
  tasks.map(({ type, key, followUp, ...asked }, index) => [
    key,
    { type, ...occasion, index, ...admissionOf(asked), ...(followUp === undefined ? {} : { followUp }) },
  ]);

/** Whether nothing is known of the cluster. A service may know of its pause before anything else. */
const isUnknown = <State>({ decider }: Pick<Reconciler<State>, 'decider'>, { state, isPaused }: KnownState<State>) =>
  state === decider.initial && isPaused !== true;

/** A stored state is no longer the same object as the initial one. */
const knownOf = <State>(
  { decider }: Pick<Reconciler<State>, 'decider'>,
  { state, isPaused, isGone }: Reconciled<State>,
): KnownState<State> => {
  if (isGone === true) return { state: decider.initial };
  return isPaused === true ? { state, isPaused } : { state };
};

interface Change<State> {
  readonly known: KnownState<State>;
  /** New follow-ups, and the keys of those that are kept. */
  readonly followUps: readonly Task[];
  readonly kept: readonly string[];
  readonly occasion: Occasion;
}

const followUpKeys = ({ origins }: Pick<Reconciled<unknown>, 'origins'>): readonly string[] =>
  Object.keys(origins).filter((key) => origins[key]?.followUp !== undefined);

const reconcile = <State>(
  reconciler: Reconciler<State>,
  before: Reconciled<State>,
  { known, followUps, kept, occasion }: Change<State>,
): Reconciled<State> => {
  const isGone = isUnknown(reconciler, known);
  const generation = isGone ? '' : reconciler.generation(known.state);
  const tasks = isGone ? [] : desiredTasks(reconciler, known, occasion.now);
  const published = new Set(generation === before.generation ? before.desired : []);
  const wakeAt = isGone ? null : wakeOf(reconciler, known, occasion.now);
  const fresh: readonly NewTask[] = [
    ...tasks.filter(({ key }) => !published.has(key)),
    ...(isGone ? [] : factsOf(reconciler, known, occasion.now)),
    ...followUps.map((task) => ({ ...task, followUp: task })),
  ];
  const stay = [...tasks.map(({ key }) => key).filter((key) => published.has(key)), ...kept];
  return {
    ...known,
    ...(isGone ? { isGone: true as const } : {}),
    seq: occasion.seq,
    firstSeq: before.seq === 0 ? occasion.seq : before.firstSeq,
    origins: Object.fromEntries([
      ...stay.map((key) => [key, before.origins[key]!] as const),
      ...originsOf(fresh, occasion),
    ]),
    generation,
    desired: tasks.map(({ key }) => key),
    wakeAt,
    reactions: [
      ...fresh.map((task) => publish(reconciler, generation, task, occasion)),
      ...wakeReactions(before.wakeAt, wakeAt),
    ],
  };
};

/** The part of a cluster's state that determines its tasks. */
export type TasksInState = Pick<Reconciled<unknown>, 'origins' | 'generation' | 'firstSeq'>;

/** Each as requested by the event since which it is desired. */
export const tasksInState = (
  { name }: { readonly name: string },
  { origins, generation }: TasksInState,
): readonly { readonly key: string; readonly origin: Origin; readonly reaction: TaskReaction }[] =>
  Object.entries(origins).map(([key, origin]) => ({
    key,
    origin,
    reaction: publish({ name }, generation, { ...origin, key }, origin),
  }));

/** At the time returned by `wakeAt`. */
const woken = <State>(
  reconciler: Reconciler<State>,
  before: Reconciled<State>,
  { now, eventId, correlationId }: Wake,
): Reconciled<State> => {
  const known = knownOf(reconciler, before);
  const after = reconcile(reconciler, before, {
    known,
    followUps: known.isPaused === true ? [] : (reconciler.followUps?.(known.state, { now }) ?? []),
    kept: followUpKeys(before),
    occasion: { seq: before.seq, now, eventId, correlationId },
  });
  // The fired timer no longer exists.
  const tasks = after.reactions.filter(({ kind }) => kind === 'task');
  return { ...after, reactions: [...tasks, ...(after.wakeAt === null ? [] : [timer(WAKE, after.wakeAt)])] };
};

const evolved = <State>(
  reconciler: Reconciler<State>,
  before: Reconciled<State>,
  event: StoredEvent,
): Reconciled<State> | undefined => {
  const knownBefore = knownOf(reconciler, before);
  const known = knownAfter(reconciler, knownBefore, event);
  const followUps = reconciler.followUps?.(known.state, { event, now: event.meta.time }) ?? [];
  const open = followUpKeys(before);
  const kept = open.filter((key) => reconciler.isPointless?.(before.origins[key]!.followUp!, event) !== true);
  // Its reactions stay those to an earlier event: an unchanged state is not written.
  if (known === knownBefore && followUps.length === 0 && kept.length === open.length) return before;
  if (isUnknown(reconciler, known) && followUps.length + kept.length === 0) return undefined;
  return reconcile(reconciler, before, { known, followUps, kept, occasion: occasionOf(event) });
};

/** The follow-up has ended. undefined: nothing is left of the cluster. */
const ended = <State>(
  reconciler: Reconciler<State>,
  before: Reconciled<State>,
  { key, seq, now }: TaskRef,
): Reconciled<State> | undefined => {
  const origin = before.origins[key];
  // Another one with its key may have replaced it.
  if (origin?.followUp === undefined || origin.seq !== seq || origin.now !== now) return before;
  const origins = Object.fromEntries(Object.entries(before.origins).filter(([other]) => other !== key));
  const isLeft = Object.keys(origins).length > 0 || !isUnknown(reconciler, knownOf(reconciler, before));
  return isLeft ? { ...before, origins, reactions: [] } : undefined;
};

/**
 * Folds the log into a reconciler's desired tasks. Each event may make tasks desired or facts due, or change the next
 * wake-up.
 */
export const reconcilerProcess = <State>(reconciler: Reconciler<State>): Process<Reconciled<State>> => {
  const { name, version, decider } = reconciler;
  return {
    name,
    version,
    initial: {
      ...{ state: decider.initial, seq: 0, firstSeq: 0, generation: '' },
      ...{ desired: [], origins: {}, wakeAt: null, reactions: [] },
    },
    evolve: (before, event) => evolved(reconciler, before, event),
    react: ({ seq, reactions }, event) => (seq === event.meta.seq ? reactions : []),
    woken: (before, wake) => woken(reconciler, before, wake),
    ended: (before, ref) => ended(reconciler, before, ref as TaskRef),
  };
};

/** The kernel's own command to a reconciler's decider, and those that handlers record through it. */
export type ReconcilerCommand =
  | Command<'Look', null>
  | Command<'StateFacts', { readonly now: string }>
  | Command<'RecordFailure', { readonly ref: TaskRef; readonly failure: TaskFailure }>
  | Command<'RecordOutcome', Command>;

/** A task that started before its cluster was paused still records what it did. */
export const reconcilerDecider = <State, F extends Fact>(
  reconciler: Reconciler<State, Command, F>,
): Decider<KnownState<State>, ReconcilerCommand, F> => ({
  initial: { state: reconciler.decider.initial },
  reads: 'cluster',
  evolve: (known, event) => knownAfter(reconciler as Reconciler<State>, known, event),
  decide: (known, command) => {
    switch (command.type) {
      case 'Look':
        return nothing;
      case 'RecordOutcome':
        return reconciler.decider.decide(known.state, command.data);
      case 'StateFacts':
        return dueFacts(reconciler, known, command.data.now);
      case 'RecordFailure': {
        const { ref, failure } = command.data;
        const task = desiredTask(reconciler as Reconciler<State>, known, ref, failure.now);
        return task === undefined || task === ref.followUp
          ? nothing
          : (reconciler.failed?.(known.state, task, failure) ?? nothing);
      }
    }
  },
});
