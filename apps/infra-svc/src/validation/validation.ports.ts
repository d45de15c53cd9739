import type {
  ClusterSpec,
  ClusterUid,
  ConnectionName,
  Namespace,
  NodeSet,
  Refusal,
  Desired,
} from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';

export interface DesiredCluster {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** Of the request for more workers that is looked at; absent: it is about the cluster itself, or machines beside any request. */
  readonly requestId?: string;
}

/** What a namespace may use, and how much. */
export interface Tenancy {
  grantRefusal(connection: ConnectionName, namespace: Namespace): Promise<Refusal | undefined>;
  /** Requests are judged in the order of the log, so that of two at once only the first one sees the room. */
  roomRefusal(desired: Desired): Promise<Refusal | undefined>;
}

/** Checks requests against the world. Creates nothing. Rejects with WorldFailure when a provider cannot be asked. */
export interface Validation {
  /** The first reason why the cluster cannot be built, in CB-Ladybug's order. */
  cluster(desired: DesiredCluster, cause: Cause, signal: AbortSignal): Promise<Refusal | undefined>;
  /** The first reason why the cluster cannot have these workers too. */
  workers(
    desired: DesiredCluster,
    workers: readonly NodeSet[],
    cause: Cause,
    signal: AbortSignal,
  ): Promise<Refusal | undefined>;
}
