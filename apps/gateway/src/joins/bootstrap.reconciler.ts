import type { ClusterUid } from '@fairlead/contracts';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';
import { joinsAfter, type Joins } from './joins.decider.js';

/** Data of the task: a pool of this cluster has no bootstrap data yet. */
export interface BootstrapDataTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly pool: string;
}

/** `joins` undefined: there is no cluster. */
interface KnownJoins {
  readonly joins?: Joins;
}

const NO_JOINS: KnownJoins = {};

const without = (pools: Joins['pools']): readonly string[] =>
  Object.entries(pools).flatMap(([name, { data }]) => (data === undefined ? [name] : []));

/** Every pool whose hosts join by themselves has bootstrap data from the moment at which it is declared. */
export const bootstrapDataReconciler: Reconciler<KnownJoins> = {
  name: 'bootstrap-data',
  version: 1,
  context: 'joins',
  decider: stateOnly(NO_JOINS, (known, event) => {
    const joins = joinsAfter(known.joins, event);
    if (joins === known.joins) return known;
    return joins === undefined ? NO_JOINS : { joins };
  }),
  generation: ({ joins }) => joins?.uid ?? '',
  tasks: ({ joins }) =>
    joins === undefined
      ? []
      : without(joins.pools).map((pool) => {
          const data: BootstrapDataTask = { uid: joins.uid, pool };
          return {
            type: 'GenerateBootstrapData',
            key: `GenerateBootstrapData/${pool}`,
            reason: 'its hosts join by themselves, and it has no bootstrap data yet',
            data,
          };
        }),
};
