import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { evolve } from './remediation.evolve.js';
import { requestFor, type RemediationFact } from './remediation.planner.js';
import { ABSENT, type Remediation } from './remediation.state.js';

/** It was confirmed that the node is unhealthy. */
export type RequestRemediation = Command<
  'RequestRemediation',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly now: string }
>;

/** Unhealthy nodes and what is done about them. In the stream of rollouts: an upgrade and a remediation never begin at once. */
export const remediation: Decider<Remediation, RequestRemediation, RemediationFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data }) =>
    state.status === 'absent' || state.uid !== data.uid ? nothing : requestFor(state, data.node, data.now),
};
