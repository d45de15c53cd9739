import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { evolve } from './remediation.evolve.js';
import { requestFor, type RemediationFact } from './remediation.planner.js';
import { ABSENT, type Remediation } from './remediation.state.js';

/** The node was confirmed to be unhealthy. */
export type RequestRemediation = Command<
  'RequestRemediation',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly now: string }
>;

/**
 * Unhealthy nodes and their remediation. In the rollout stream: an upgrade and a remediation never start at the same
 * time.
 */
export const remediation: Decider<Remediation, RequestRemediation, RemediationFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data }) =>
    state.status === 'absent' || state.uid !== data.uid ? nothing : requestFor(state, data.node, data.now),
};
