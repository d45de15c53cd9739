import { refuse, type Fact } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';

export type RetryNetwork = Command<'RetryNetwork', { readonly namespace: string; readonly cluster: string }>;

/** What people may ask of the network configuration of nodes, besides declaring it. */
export const networkRequests: Decider<ClusterMembership | undefined, RetryNetwork, Fact<'NetworkRetryRequested'>> = {
  initial: undefined,
  reads: 'cluster',

  decide: (present, { data: { namespace, cluster } }) => {
    if (present === undefined) return refuse('cluster.unknown', { namespace, cluster });
    if (present.phase === 'Deleting') return refuse('cluster.deleting', { cluster });
    const paused = refuseWhilePaused(present.pause, { namespace, cluster }, 'retry the network configuration');
    return paused ?? [{ type: 'NetworkRetryRequested', data: { uid: present.uid } }];
  },

  evolve: membershipAfter,
};
