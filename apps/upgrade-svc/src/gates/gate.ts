import type { KubernetesRelease, NodeName, SoftwareVersions } from '@fairlead/contracts';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';
import type { ClusterState } from '../rollout/rollout.state.js';
import type { EtcdFacts } from '../rules/cluster.facts.js';

/** What a gate may look at. */
export interface GateLook {
  readonly cluster: UpgradeCluster;
  /** All members of etcd, as they see each other. */
  readonly etcd: () => Promise<EtcdFacts>;
  readonly survey: ClusterSurvey;
  readonly known: ClusterState;
  /** Need be neither Ready nor healthy members of etcd. */
  readonly excused: readonly NodeName[];
  /** Absent: the gate is about the cluster. */
  readonly node: NodeName | null;
  /** What must be seen on the node. */
  readonly software: SoftwareVersions;
  /** What the operation brings the cluster to; undefined: it leaves Kubernetes as it is. */
  readonly release: KubernetesRelease | undefined;
  /** Those of the plan that are not built in; absent: none. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
  /** Between two looks at what must have moved or stayed well. */
  readonly rest: (why: 'passes' | 'leases') => Promise<void>;
}

export type Verdict =
  | { readonly holds: true; readonly facts: Readonly<Record<string, unknown>> }
  | { readonly holds: false; readonly facts: Readonly<Record<string, unknown>>; readonly message: string };

export type Gate = (look: GateLook) => Promise<Verdict>;
