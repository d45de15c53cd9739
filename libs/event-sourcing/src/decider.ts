import type { Fact, Refusal, StoredEvent } from '@fairlead/contracts';
import type { ReadElsewhere } from './store.js';

/** A command may be refused, and is never recorded itself. */
export interface Command<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  /** Another stream from which its data were read: the decision is valid only while that stream is unchanged. */
  readonly elsewhere?: ReadElsewhere | undefined;
}

/**
 * A decision: pure and total, without clock, ids or I/O (they arrive in the command). `evolve` sees stored events in
 * order; with `reads: 'cluster'` also those that other services wrote about the cluster.
 */
export interface Decider<State, C extends Command, E extends Fact> {
  readonly initial: State;
  /** The events that form the state: those of the decider's own stream, or all of the cluster's. Default: 'stream'. */
  readonly reads?: 'stream' | 'cluster';
  decide(state: State, command: C): readonly E[] | Refusal;
  evolve(state: State, event: StoredEvent): State;
}

/** The result of a command that changes nothing, e.g. a repeated one. */
export const nothing: readonly never[] = [];

/** For a reconciler whose handlers use other deciders: the state of a cluster, without commands of its own. */
export const stateOnly = <State>(
  initial: State,
  evolve: (state: State, event: StoredEvent) => State,
): Decider<State, Command, never> => ({ initial, reads: 'cluster', decide: () => nothing, evolve });
