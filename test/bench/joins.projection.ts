import type { Projection } from '@fairlead/event-sourcing';

export interface Joined {
  readonly nodes: number;
  readonly last: string;
}

/** Like the product's own: a document per cluster that changes with every event. */
export const joins: Projection<Joined> = {
  name: 'joins',
  table: 'joins',
  keys: (event) => [`${event.meta.namespace}/${event.meta.cluster}`],
  evolve: (row, event) =>
    event.type === 'WorkerJoined' ? { nodes: (row?.nodes ?? 0) + 1, last: event.data.node } : row,
};
