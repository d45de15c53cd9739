import type { ClusterLease, ClusterSpec, ClusterUid, ConnectionName, Namespace, Refusal } from '@fairlead/contracts';
import type { Desired } from '@fairlead/domain';

export interface DesiredCluster {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** Of the request for more workers that is looked at; absent: it is about the cluster itself, or machines beside any request. */
  readonly requestId?: string;
  /** Of a new cluster; absent: it has no end. */
  readonly lease?: ClusterLease | undefined;
}

/** What a namespace may use, and how much. */
export interface Tenancy {
  grantRefusal(connection: ConnectionName, namespace: Namespace): Promise<Refusal | undefined>;
  /** Requests are judged in the order of the log, so that of two at once only the first one sees the room. */
  roomRefusal(desired: Desired): Promise<Refusal | undefined>;
}
