import type { StoreReport } from '@fairlead/event-sourcing/streams';
import type { CommandOutput } from '../output/format.js';
import { prose } from '../output/table.js';

/** Everything that Fairlead keeps in NATS, and what differs from what was asked for. */
export const storesAnswer = (stores: readonly StoreReport[]): CommandOutput => ({
  data: {
    stores: stores.map(({ name, kind, replicas, inSync, notes }) => ({
      name,
      kind,
      replicas,
      inSync,
      notes: notes.map(({ text }) => text),
    })),
  },
  table: {
    columns: ['name', 'kind', 'replicas', 'in sync', prose('message')],
    rows: stores.map(({ name, kind, replicas, inSync, notes }) => [
      name,
      kind,
      String(replicas),
      `${inSync} of ${replicas}`,
      notes.map(({ text }) => text).join('; '),
    ]),
    empty: 'NATS has no stores.',
  },
  names: stores.map(({ name }) => name),
});

/** What an operator has to know of them at a start: nothing of those that are as they were asked for, or new. */
export const storeLines = (stores: readonly StoreReport[]): readonly string[] =>
  stores.flatMap(({ name, kind, notes }) =>
    notes.filter((note) => note.kind !== 'created').map(({ text }) => `The ${kind} ${name}: ${text}.`),
  );
