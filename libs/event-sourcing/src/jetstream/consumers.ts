import type { Process } from '../process.js';
import type { Projection } from '../projection.js';

/**
 * The pure consumers of a service. Documents are `unknown`: the runner only passes them between the log and the
 * database.
 */
export interface Consumers {
  readonly projections: readonly Projection<unknown>[];
  readonly processes: readonly Process<unknown>[];
}

/** The name under which a consumer's positions are stored. */
export const projectionConsumer = (projection: Projection<unknown>): string => `projection:${projection.name}`;
export const processConsumer = (process: Pick<Process<unknown>, 'name' | 'version'>): string =>
  `reconciler:${process.name}@${process.version}`;

/** All methods decorated with OnEvent share one position. */
export const HANDLERS_CONSUMER = 'handlers';

export const consumerNames = (consumers: Consumers): readonly string[] => [
  ...consumers.projections.map(projectionConsumer),
  ...consumers.processes.map(processConsumer),
];
