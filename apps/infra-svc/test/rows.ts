import type { StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

/** The row of a projection after these events. */
export const rowFrom = <Row>(
  projection: Projection<Row>,
  events: readonly StoredEvent[],
  key: string,
): Row | undefined =>
  events
    .filter((event) => projection.keys(event).includes(key))
    .reduce<Row | undefined>((row, event) => projection.evolve(row, event, key), undefined);
