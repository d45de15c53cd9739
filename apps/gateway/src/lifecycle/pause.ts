import { refuse, type Refusal } from '@fairlead/contracts';
import type { ClusterPause } from '@fairlead/domain';

/** While a cluster is paused, nothing is requested of it: what would be done for the request could not be done. */
export const refuseWhilePaused = (
  pause: ClusterPause | null,
  { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
  action: string,
): Refusal | undefined => {
  if (pause === null) return undefined;
  const { since, reason } = pause;
  return refuse('cluster.paused', { namespace, cluster, action, since, reason: reason === '' ? '' : `: ${reason}` });
};
