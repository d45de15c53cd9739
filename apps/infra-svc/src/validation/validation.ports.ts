import type { ClusterLease, ClusterSpec, ClusterUid, ConnectionName, Namespace, Refusal } from '@fairlead/contracts';
import type { Desired } from '@fairlead/domain';

export interface DesiredCluster {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** The request for more workers that is checked; absent: the cluster itself, or machines without a request. */
  readonly requestId?: string;
  /** For a new cluster; absent: it has no lease. */
  readonly lease?: ClusterLease | undefined;
}

/** The grants and quotas of a namespace. */
export interface Tenancy {
  grantRefusal(connection: ConnectionName, namespace: Namespace): Promise<Refusal | undefined>;
  /**
   * Requests are checked in the order of the log, so that of two concurrent ones only the first can use the remaining
   * quota.
   */
  capacityRefusal(desired: Desired): Promise<Refusal | undefined>;
}
