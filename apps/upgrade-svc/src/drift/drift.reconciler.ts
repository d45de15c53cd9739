import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { nothing, type Decider, type Reconciler } from '@fairlead/event-sourcing';
import { evolve } from './drift.evolve.js';
import { driftFacts, driftMoments, openRepairs, type DriftFact } from './drift.planner.js';
import { ABSENT, type DriftState } from './drift.state.js';

/** Data of the task: the agent of this node may repair what needs no drain. */
export interface PermitRepair {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly node: NodeName;
  readonly requestId: string;
}

/** Has no commands: everything follows from the facts of agents. */
const drift: Decider<DriftState, never, DriftFact> = {
  initial: ABSENT,
  reads: 'cluster',
  decide: () => nothing,
  evolve,
};

/** Repairs drift of nodes, outside of Fairlead's own changes and as the cluster declares. */
export const driftReconciler: Reconciler<DriftState, never, DriftFact> = {
  name: 'drift',
  version: 2,
  context: 'rollout',
  decider: drift,
  generation: (state) => (state.status === 'absent' ? '' : state.uid),
  facts: (state, now) => (state.status === 'absent' ? [] : driftFacts(state, now)),

  tasks: (state) =>
    state.status === 'absent'
      ? []
      : openRepairs(state).map(({ node, requestId }) => {
          const data: PermitRepair = { uid: state.uid, node, requestId };
          const reason = `${node} differs from what is desired of it`;
          return { type: 'PermitRepair', key: `PermitRepair/${requestId}`, reason, data };
        }),

  wakeAt: (state, now) =>
    state.status === 'absent' || state.life === 'deleting'
      ? null
      : (driftMoments(state)
          .filter((moment) => moment > now)
          .toSorted()[0] ?? null),
};
