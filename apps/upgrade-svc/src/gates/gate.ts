import type { KubernetesRelease, NodeName, SoftwareVersions } from '@fairlead/contracts';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';
import type { ClusterState } from '../rollout/rollout.state.js';
import type { EtcdFacts } from '../rules/cluster.facts.js';

/** The input of a gate. */
export interface GateLook {
  readonly cluster: UpgradeCluster;
  /** All members of etcd, as they see each other. */
  readonly etcd: () => Promise<EtcdFacts>;
  readonly survey: ClusterSurvey;
  readonly known: ClusterState;
  /** Nodes that need neither be Ready nor be healthy etcd members. */
  readonly excused: readonly NodeName[];
  /** Absent: the gate is about the cluster. */
  readonly node: NodeName | null;
  /** The software that the node must have. */
  readonly software: SoftwareVersions;
  /** The release that the operation upgrades to; undefined: Kubernetes is unchanged. */
  readonly release: KubernetesRelease | undefined;
  /** Releases of the plan that are not built in; absent: none. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
  /** Waits between two checks of something that must have changed or remained healthy. */
  readonly rest: (why: 'passes' | 'leases') => Promise<void>;
}

export type Verdict =
  | { readonly holds: true; readonly facts: Readonly<Record<string, unknown>> }
  | { readonly holds: false; readonly facts: Readonly<Record<string, unknown>>; readonly message: string };

export type Gate = (look: GateLook) => Promise<Verdict>;
