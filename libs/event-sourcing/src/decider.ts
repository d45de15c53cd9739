import type { Fact, Refusal, StoredEvent } from '@fairlead/contracts';
import type { ReadElsewhere } from './store.js';

/** An order. It may be refused; it never happened. */
export interface Command<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  /** Another stream that its data were read from: it is decided only while that stream has not gone on. */
  readonly elsewhere?: ReadElsewhere | undefined;
}

/**
 * The whole of a decision: pure, total, without clock, ids or I/O (they arrive in the command).
 * `evolve` sees stored events in order; with `reads: 'cluster'` also those that other services wrote about the cluster.
 */
export interface Decider<State, C extends Command, E extends Fact> {
  readonly initial: State;
  /** Which events make up the state: those of the decider's own stream, or all of the cluster's. Default: 'stream'. */
  readonly reads?: 'stream' | 'cluster';
  decide(state: State, command: C): readonly E[] | Refusal;
  evolve(state: State, event: StoredEvent): State;
}

/** The answer to a command that changes nothing, e.g. the repetition of one that was carried out. */
export const nothing: readonly never[] = [];

/** For a reconciler whose handlers decide by the deciders of others: the state of a cluster, and no command of its own. */
export const stateOnly = <State>(
  initial: State,
  evolve: (state: State, event: StoredEvent) => State,
): Decider<State, Command, never> => ({ initial, reads: 'cluster', decide: () => nothing, evolve });
