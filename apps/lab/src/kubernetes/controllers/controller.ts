import type { Operation } from '../operations/operation.js';
import type { Change } from '../store/object.store.js';

/** A controller: which of its keys a change affects, and the operations for a key. */
export interface Controller {
  readonly name: string;
  keysFor(change: Change): readonly string[];
  /** Every key, for the start and after an outage. */
  allKeys(): readonly string[];
  plan(key: string): readonly Operation[];
}
