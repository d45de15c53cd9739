import type { Fact, Refusal } from '@fairlead/contracts';
import { declaredAfter, hasUnmet, type Declared } from '@fairlead/domain';
import type { Decider } from '@fairlead/event-sourcing';
import { clusters, type ClusterState, type RetryCluster } from './clusters.decider.js';

export interface RetriesState {
  readonly cluster: ClusterState;
  readonly declared: Declared | undefined;
}

type Retried = Fact<'ClusterRetryRequested'>;

/** Retries of what failed, and of what is declared and came to nothing although nothing is kept as failed. */
export const retries: Decider<RetriesState, RetryCluster, Retried> = {
  initial: { cluster: clusters.initial, declared: undefined },
  reads: 'cluster',

  decide: ({ cluster, declared }, { type, data }) => {
    const isUnmet = declared !== undefined && hasUnmet(declared);
    return clusters.decide(cluster, { type, data: { ...data, isUnmet } }) as readonly Retried[] | Refusal;
  },

  evolve: ({ cluster, declared }, event) => ({
    cluster: clusters.evolve(cluster, event),
    declared: declaredAfter(declared, event),
  }),
};
