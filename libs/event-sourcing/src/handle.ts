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
import { isRepeatable, type Cause, type EventStore, type LogEntry } from './store.js';

/** Maximum attempts of a decision if other writers append to the stream in between. */
export const ATTEMPTS_MAX = 5;

/**
 * How many repeatable requests of a stream are remembered. A request that is repeated after more than these is decided
 * again.
 */
const REQUESTS_MAX = 1000;

export interface Decided<State> {
  readonly kind: 'decided';
  readonly events: readonly StoredEvent[];
  readonly state: State;
  /** The sequence of the log at which this state is current; pass it to a reader that must see the decision. */
  readonly seq: number;
}

/**
 * Fold, decide, append with the expected position, at most ATTEMPTS_MAX times: the whole shell around a decider. A
 * repeatable cause that already has events in the stream is not decided again: those events are returned, with the
 * current state.
 */
export type Handle = <State, C extends Command, E extends Fact>(
  decider: Decider<State, C, E>,
  stream: StreamId,
  command: C,
  cause: Cause,
) => Promise<Decided<State> | Refusal>;

/** A decision must not ignore events of a newer release; events of nodes are not part of a decision's own history. */
const refuseNewer = ({ context, rejection }: LogEntry): void => {
  if (rejection?.reason === 'newer-version' && !context.startsWith('node-'))
    throw new Error(`no decision is possible here: ${rejection.detail}; upgrade this service`);
};

const withRequest = (requests: readonly string[], causationId = ''): readonly string[] =>
  isRepeatable(causationId) && requests.at(-1) !== causationId
    ? [...requests, causationId].slice(-REQUESTS_MAX)
    : requests;

/** A message that is not an event changes no state, but advances the position of its stream. */
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
      requests: entry.context === context ? withRequest(before.requests, event?.meta.causationId) : before.requests,
    };
  }, folded);

const empty = <State>(initial: State): Folded<State> => ({
  state: initial,
  readSeq: 0,
  position: { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH },
  requests: [],
});

/** Serializes decisions on one stream within a process, so that only replicas can conflict. */
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

const ownFilter = (stream: StreamId): string => `${streamSubject(stream)}.>`;

/** The part of the log that a decider reads: its own stream, or all events of the cluster. */
const filterOf = (reads: 'stream' | 'cluster' | undefined, stream: StreamId): string =>
  reads === 'cluster' ? clusterFilter(stream.namespace, stream.cluster) : ownFilter(stream);

export const makeHandle = (store: EventStore, cache: FoldCache = new FoldCache()): Handle => {
  const takeTurn = inTurn();

  const causedBy = async ({ causationId }: Cause, stream: StreamId): Promise<readonly StoredEvent[]> => {
    const entries = await store.entries(ownFilter(stream), 0);
    return entries.flatMap(({ event }) => (event?.meta.causationId === causationId ? [event] : []));
  };

  const decideOn = async <State, C extends Command, E extends Fact>(
    { decider, stream, command, cause }: Decision<State, C, E>,
    folded: Folded<State>,
  ): Promise<Decided<State> | Refusal | 'conflict'> => {
    const remember = (now: Folded<State>): void =>
      cache.set(decider, filterOf(decider.reads, stream), stream.context, now);
    if (folded.requests.includes(cause.causationId)) {
      const events = await causedBy(cause, stream);
      return { kind: 'decided', events, state: folded.state, seq: events.at(-1)?.meta.seq ?? folded.readSeq };
    }
    const facts = decider.decide(folded.state, command);
    if (isRefusal(facts)) return facts;
    if (facts.length === 0) {
      remember(folded);
      return { kind: 'decided', events: [], state: folded.state, seq: folded.readSeq };
    }
    const { elsewhere } = command;
    const expected = elsewhere === undefined ? folded.position : { ...folded.position, elsewhere };
    const appended = await store.append(stream, expected, facts, cause);
    if (appended.kind === 'conflict') return 'conflict';
    const { events, position } = appended;
    const state = events.reduce((before, event) => decider.evolve(before, event), folded.state);
    // With the whole cluster, events of other writers may lie between the read and the append; within one stream they
    // cannot.
    if (decider.reads === 'cluster') remember(folded);
    else
      remember({ state, readSeq: position.seq, position, requests: withRequest(folded.requests, cause.causationId) });
    return { kind: 'decided', events, state, seq: position.seq };
  };

  const decideOnce = async <State, C extends Command, E extends Fact>(
    decision: Decision<State, C, E>,
  ): Promise<Decided<State> | Refusal | 'conflict'> => {
    const { decider, stream } = decision;
    const filter = filterOf(decider.reads, stream);
    const known = cache.get(decider, filter, stream.context) ?? empty(decider.initial);
    const folded = apply(decider, known, await store.entries(filter, known.readSeq), stream.context);
    return decideOn(decision, folded);
  };

  /**
   * The cached state of a stream is usually current, because usually one replica writes to it: a decision that writes
   * need not read the log, since an append with an outdated expectation is rejected. Any other outcome may be due to
   * unseen events.
   */
  const decideUnseen = async <State, C extends Command, E extends Fact>(
    decision: Decision<State, C, E>,
  ): Promise<Decided<State> | undefined> => {
    const { decider, stream, command, cause } = decision;
    if (decider.reads === 'cluster') return undefined;
    const known = cache.get(decider, ownFilter(stream), stream.context);
    if (known === undefined || known.requests.includes(cause.causationId)) return undefined;
    const facts = decider.decide(known.state, command);
    if (isRefusal(facts) || facts.length === 0) return undefined;
    const outcome = await decideOn(decision, known);
    return outcome === 'conflict' || isRefusal(outcome) ? undefined : outcome;
  };

  return (decider, stream, command, cause) =>
    takeTurn(streamSubject(stream), async () => {
      const decision = { decider, stream, command, cause };
      const unseen = await decideUnseen(decision);
      if (unseen !== undefined) return unseen;
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const outcome = await decideOnce(decision);
        if (outcome !== 'conflict') return outcome;
        // Usually another replica was first; if the cached state itself is wrong, the next attempt reads from the
        // start.
        cache.forget(decider, filterOf(decider.reads, stream), stream.context);
      }
      return refuse('conflict.concurrent', { what: `${stream.namespace}/${stream.cluster}` });
    });
};

interface Decision<State, C extends Command, E extends Fact> {
  readonly decider: Decider<State, C, E>;
  readonly stream: StreamId;
  readonly command: C;
  readonly cause: Cause;
}
