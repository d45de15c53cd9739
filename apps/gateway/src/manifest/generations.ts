import type { StoredEvent } from '@fairlead/contracts';
import {
  changedFields,
  changedLabels,
  declaredAfter,
  isDeclaring,
  type ChangedField,
  type Declared,
} from '@fairlead/domain';

/** What a cluster was declared to be, from one event to the next that changed it. */
export interface Generation {
  /** Counted from 1. */
  readonly number: number;
  readonly event: StoredEvent;
  readonly declared: Declared;
  /** Compared with the generation before it; of the first, every field. */
  readonly changes: readonly ChangedField[];
}

const changesOf = (before: Declared | undefined, after: Declared): readonly ChangedField[] => [
  ...changedLabels(before?.labels, after.labels),
  ...changedFields(before?.spec, after.spec),
];

/** The generations of the latest cluster of a name, oldest first; also of one that is deleted. */
export const generationsOf = (events: readonly StoredEvent[]): readonly Generation[] => {
  let generations: Generation[] = [];
  let before: Declared | undefined;
  for (const event of events) {
    if (!isDeclaring(event)) continue;
    const declared = declaredAfter(before, event);
    if (declared !== undefined && declared.uid !== before?.uid) {
      generations = [{ number: 1, event, declared, changes: changesOf(undefined, declared) }];
    } else if (declared !== undefined && declared.seq !== before?.seq) {
      const changes = changesOf(before, declared);
      if (changes.length > 0) generations.push({ number: generations.length + 1, event, declared, changes });
    }
    before = declared;
  }
  return generations;
};
