import type { ClusterApi, ClusterApis } from '@fairlead/kubernetes';

export type {
  BudgetView,
  EvictionAnswer,
  Manifest,
  NodeView,
  PodView,
  Program,
  ProgramEnd,
  WorkloadView,
} from '@fairlead/kubernetes';

/** The part of a cluster's API that upgrades use. */
export type UpgradeCluster = Omit<
  ClusterApi,
  'apiServerAddresses' | 'label' | 'releaseOutside' | 'signClientCertificate'
>;

export type KubernetesApi = ClusterApis<UpgradeCluster>;
