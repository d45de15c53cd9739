import type { ClusterUid } from '@fairlead/contracts';
import type { Reconciler } from '@fairlead/event-sourcing';
import {
  controlPlaneRemovals,
  type Leaving,
  type RecordRemoval,
  type RemovalFact,
  type Removals,
} from './removals.decider.js';

/** Data of the task: etcd must be ready for the departure of this control plane. */
export interface PrepareRemoval extends Leaving {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
}

/** Before a control plane leaves, its quorum is checked, etcd is saved and its leader moved. */
export const removalsReconciler: Reconciler<Removals, RecordRemoval, RemovalFact> = {
  name: 'control-plane-removals',
  version: 2,
  context: 'rollout',
  decider: controlPlaneRemovals,
  generation: ({ uid }) => uid ?? '',

  tasks: ({ uid, leaving }) => {
    if (uid === null || leaving === null) return [];
    const { node, attempt } = leaving;
    const data: PrepareRemoval = { uid, node, attempt };
    return [
      { type: 'PrepareRemoval', key: `PrepareRemoval/${node}/${attempt}`, reason: 'the control plane leaves', data },
    ];
  },

  failed: (_state, { data }, { cause, nextAttemptAt }) => {
    if (nextAttemptAt !== null) return [];
    const { uid, node, attempt } = data as PrepareRemoval;
    return [{ type: 'ControlPlaneRemovalBlocked', data: { uid, node, attempt, quorum: null, cause } }];
  },
};
