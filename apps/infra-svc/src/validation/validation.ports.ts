import type { ClusterUid, ClusterSpec, Namespace, NodeSet, Refusal } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';

export interface WantedCluster {
  readonly namespace: Namespace;
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
}

/** Checks wishes against the world. Creates nothing. Rejects with WorldFailure when a provider cannot be asked. */
export interface Validation {
  /** The first reason why the cluster cannot be built, in CB-Ladybug's order. */
  cluster(wanted: WantedCluster, cause: Cause, signal: AbortSignal): Promise<Refusal | undefined>;
  /** The first reason why the cluster cannot have these workers too. */
  workers(
    wanted: WantedCluster,
    workers: readonly NodeSet[],
    cause: Cause,
    signal: AbortSignal,
  ): Promise<Refusal | undefined>;
}
