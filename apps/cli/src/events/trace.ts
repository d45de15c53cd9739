import type { AuditView } from '../api/views.js';

type Entry = AuditView['items'][number];

/** An event with everything that followed from it. */
export interface Consequence {
  readonly entry: Entry;
  readonly led: readonly Consequence[];
}

/** Why an event happened, and what it led to. */
export interface Trace {
  /** From the first cause, usually a request, to the nearest one. */
  readonly causes: readonly Entry[];
  readonly event: Entry;
  readonly led: readonly Consequence[];
}

/** The trace of the event with this sequence in a history, in the order of the log; undefined: the history has no such event. */
export const traceOf = (history: readonly Entry[], seq: number): Trace | undefined => {
  const event = history.find((entry) => entry.seq === seq);
  if (event === undefined) return undefined;
  const bySeq = new Map(history.map((entry) => [entry.seq, entry]));
  return { causes: causesOf(event, bySeq), event, led: ledBy(event, effectsIn(history)) };
};

/** Each answer names up to 20 causes: the chain goes on at the farthest of them. A cause comes before its effect, so it ends. */
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

/** The events of a history by the sequence of what caused them. */
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
