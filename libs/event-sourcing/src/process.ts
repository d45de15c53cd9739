import type { StoredEvent } from '@fairlead/contracts';
import { clusterKeyOf, poisonOf, type Poison } from './projection.js';

export type JsonObject = { readonly [key: string]: unknown };

/**
 * A task that became desired. The state contains it too, so nothing must be queued beyond the lifetime of this process.
 */
export interface TaskReaction {
  readonly kind: 'task';
  readonly type: string;
  readonly data: JsonObject;
}

/** Wakes the process at `dueAt` (RFC 3339). Replaces a timer of the same key. */
export interface TimerReaction {
  readonly kind: 'timer';
  readonly key: string;
  readonly dueAt: string;
  readonly data: JsonObject;
}

export interface CancelTimerReaction {
  readonly kind: 'cancel-timer';
  readonly key: string;
}

export type Reaction = TaskReaction | TimerReaction | CancelTimerReaction;

/** A due timer, and the event that set it. */
export interface Wake {
  /** RFC 3339: when it was due. */
  readonly now: string;
  readonly eventId: string;
  readonly correlationId: string;
}

/**
 * The fold of a reconciler. Pure. One state per cluster, stored in the service's database in the same transaction as
 * the position in the log, so every event is folded exactly once.
 */
export interface Process<State> {
  readonly name: string;
  /** Increment when the shape of State changes: the state is then folded again from the log. */
  readonly version: number;
  readonly initial: State;
  /** undefined: forget this cluster. */
  evolve(state: State, event: StoredEvent): State | undefined;
  /** `state` is the state after the event (`initial` if evolve forgot it). */
  react(state: State, event: StoredEvent): readonly Reaction[];
  /** The state at the time of a timer. */
  woken(state: State, wake: Wake): State;
  /** The state after the end of a task that no event records. undefined: forget this cluster. */
  ended(state: State, task: JsonObject): State | undefined;
}

export const taskReaction = (type: string, data: JsonObject): TaskReaction => ({ kind: 'task', type, data });
export const timer = (key: string, dueAt: string, data: JsonObject = {}): TimerReaction => ({
  kind: 'timer',
  key,
  dueAt,
  data,
});
export const cancelTimer = (key: string): CancelTimerReaction => ({ kind: 'cancel-timer', key });

/** RFC 3339 plus milliseconds: lets a pure process derive a deadline from an event's own time. */
export const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

/** A reaction with the event that caused it. */
export interface Caused<R extends Reaction = Reaction> {
  readonly reaction: R;
  readonly event: StoredEvent;
  /** Its index among the event's reactions: with the event's id it identifies the reaction permanently. */
  readonly index: number;
}

/** How a batch of events changes a process. `state` undefined: the cluster is forgotten. */
export interface ProcessChanges<State> {
  readonly states: ReadonlyMap<string, { readonly seq: number; readonly state: State | undefined }>;
  readonly reactions: readonly Caused[];
  readonly poisons: readonly Poison[];
}

/** Folds a batch over the states of its clusters, and collects what became desired. */
export const advance = <State>(
  process: Process<State>,
  stateOf: (clusterKey: string) => State | undefined,
  events: readonly StoredEvent[],
): ProcessChanges<State> => {
  const states = new Map<string, { seq: number; state: State | undefined }>();
  const reactions: Caused[] = [];
  const poisons = new Map<string, Poison>();
  for (const event of events) {
    const key = clusterKeyOf(event);
    if (poisons.has(key)) continue;
    try {
      const before = (states.has(key) ? states.get(key)?.state : stateOf(key)) ?? process.initial;
      const after = process.evolve(before, event);
      const desired = process.react(after ?? process.initial, event);
      if (after !== before) states.set(key, { seq: event.meta.seq, state: after });
      desired.forEach((reaction, index) => reactions.push({ reaction, event, index }));
    } catch (error) {
      poisons.set(key, poisonOf(event, error));
    }
  }
  return { states, reactions, poisons: [...poisons.values()] };
};
