import type { StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '../store.js';

/** Probabilities of faults. */
export interface Troubles {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly crash: number;
  readonly twin: number;
}

export const CALM: Troubles = { lostRequest: 0, lostAnswer: 0, crash: 0, twin: 0 };

export type Log = EventStore & { readonly events: readonly StoredEvent[] };

/** Decides the order and the faults of a run. */
export interface Chances {
  readonly troubles: Troubles;
  readonly trace: string[];
  chance(probability: number): boolean;
  below(limit: number): number;
}
