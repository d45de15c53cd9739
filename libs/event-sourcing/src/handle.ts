import {
  clusterFilter,
  isRefusal,
  refuse,
  streamSubject,
  FIRST_PREVHASH,
  type Fact,
  type Refusal,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import type { Command, Decider } from './decider.js';
import { FoldCache, type Folded } from './fold.cache.js';
import type { Cause, EventStore, LogEntry } from './store.js';

/** How often a decision is taken anew when somebody else wrote to the stream in between. */
export const ATTEMPTS_MAX = 5;

export interface Decided<State> {
  readonly kind: 'decided';
  readonly events: readonly StoredEvent[];
  readonly state: State;
  /** The log's sequence at which this state holds; give it to a reader that must see the decision. */
  readonly seq: number;
}

/** Fold, decide, append with the expected position; at most ATTEMPTS_MAX times. The whole shell around a decider. */
export type Handle = <State, C extends Command, E extends Fact>(
  decider: Decider<State, C, E>,
  stream: StreamId,
  command: C,
  cause: Cause,
) => Promise<Decided<State> | Refusal>;

/** A decision must not be taken without what a newer release has written; what a node says is no decision's own past. */
const refuseNewer = ({ context, rejection }: LogEntry): void => {
  if (rejection?.reason === 'newer-version' && !context.startsWith('node-'))
    throw new Error(`no decision is possible here: ${rejection.detail}; upgrade this service`);
};

/** What is no event changes no state, but the stream goes on after it. */
const apply = <State, C extends Command, E extends Fact>(
  decider: Decider<State, C, E>,
  folded: Folded<State>,
  read: readonly LogEntry[],
  context: string,
): Folded<State> =>
  read.reduce<Folded<State>>((before, entry) => {
    refuseNewer(entry);
    const { seq, hash, event } = entry;
    const streamVersion = event?.meta.streamVersion ?? before.position.streamVersion + 1;
    return {
      state: event === undefined ? before.state : decider.evolve(before.state, event),
      readSeq: seq,
      position: entry.context === context ? { seq, streamVersion, hash } : before.position,
    };
  }, folded);

const empty = <State>(initial: State): Folded<State> => ({
  state: initial,
  readSeq: 0,
  position: { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH },
});

/** Decisions on one stream wait for each other inside a process, so that only replicas can conflict. */
const inTurn = (): (<T>(key: string, work: () => Promise<T>) => Promise<T>) => {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const turn = (tails.get(key) ?? Promise.resolve()).then(work, work);
    tails.set(key, turn);
    try {
      return await turn;
    } finally {
      if (tails.get(key) === turn) tails.delete(key);
    }
  };
};

/** What a decider reads of the log: its own stream, or all that is said about the cluster. */
const filterOf = (reads: 'stream' | 'cluster' | undefined, stream: StreamId): string =>
  reads === 'cluster' ? clusterFilter(stream.namespace, stream.cluster) : `${streamSubject(stream)}.>`;

export const makeHandle = (store: EventStore, cache: FoldCache = new FoldCache()): Handle => {
  const takeTurn = inTurn();

  const decideOnce = async <State, C extends Command, E extends Fact>(
    decider: Decider<State, C, E>,
    stream: StreamId,
    command: C,
    cause: Cause,
  ): Promise<Decided<State> | Refusal | 'conflict'> => {
    const filter = filterOf(decider.reads, stream);
    const known = cache.get(decider, filter, stream.context) ?? empty(decider.initial);
    const folded = apply(decider, known, await store.entries(filter, known.readSeq), stream.context);
    const facts = decider.decide(folded.state, command);
    if (isRefusal(facts)) return facts;
    if (facts.length === 0) {
      cache.set(decider, filter, stream.context, folded);
      return { kind: 'decided', events: [], state: folded.state, seq: folded.readSeq };
    }
    const appended = await store.append(stream, folded.position, facts, cause);
    if (appended.kind === 'conflict') return 'conflict';
    const state = appended.events.reduce((before, event) => decider.evolve(before, event), folded.state);
    // Other writers' events may lie between what was read and what was appended, so only what was read is remembered.
    cache.set(decider, filter, stream.context, folded);
    return { kind: 'decided', events: appended.events, state, seq: appended.position.seq };
  };

  return (decider, stream, command, cause) =>
    takeTurn(streamSubject(stream), async () => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const outcome = await decideOnce(decider, stream, command, cause);
        if (outcome !== 'conflict') return outcome;
        // Mostly another replica was first; should it be the remembered fold that is wrong, the next attempt reads from the start.
        cache.forget(decider, filterOf(decider.reads, stream), stream.context);
      }
      return refuse('conflict.concurrent', { what: `${stream.namespace}/${stream.cluster}` });
    });
};
