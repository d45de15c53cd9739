import type { AuditView } from '../api/views.js';

type Entry = AuditView['items'][number];

/** An event with all its consequences. */
export interface Consequence {
  readonly entry: Entry;
  readonly led: readonly Consequence[];
}

/** The causes and consequences of an event. */
export interface Trace {
  /** From the first cause, usually a request, to the direct one. */
  readonly causes: readonly Entry[];
  readonly event: Entry;
  readonly led: readonly Consequence[];
}

/**
 * The trace of the event with this sequence in a history, in the order of the log; undefined if the history does not
 * contain it.
 */
export const traceOf = (history: readonly Entry[], seq: number): Trace | undefined => {
  const event = history.find((entry) => entry.seq === seq);
  if (event === undefined) return undefined;
  const bySeq = new Map(history.map((entry) => [entry.seq, entry]));
  return { causes: causesOf(event, bySeq), event, led: ledBy(event, effectsIn(history)) };
};

/**
 * Each response names up to 20 causes: the chain continues at the farthest of them. It terminates, since a cause
 * precedes its effect.
 */
const causesOf = (event: Entry, bySeq: ReadonlyMap<number, Entry>): readonly Entry[] => {
  const causes: Entry[] = [];
  for (let nearest = causeOf(event, bySeq); nearest !== undefined; nearest = causeOf(nearest, bySeq))
    causes.unshift(nearest);
  return causes;
};

const causeOf = ({ seq, because }: Entry, bySeq: ReadonlyMap<number, Entry>): Entry | undefined => {
  const cause = because[0];
  return cause === undefined || cause.seq >= seq ? undefined : bySeq.get(cause.seq);
};

/** The events of a history by the sequence of their cause. */
const effectsIn = (history: readonly Entry[]): ReadonlyMap<number, readonly Entry[]> => {
  const effects = new Map<number, Entry[]>();
  for (const entry of history) {
    const cause = entry.because[0];
    if (cause === undefined || cause.seq >= entry.seq) continue;
    effects.set(cause.seq, [...(effects.get(cause.seq) ?? []), entry]);
  }
  return effects;
};

const ledBy = ({ seq }: Entry, effects: ReadonlyMap<number, readonly Entry[]>): readonly Consequence[] =>
  (effects.get(seq) ?? []).map((entry) => ({ entry, led: ledBy(entry, effects) }));
