import type { ClusterApi, ClusterApis, NodeView as FullNodeView, PodView, WorkloadView } from '@fairlead/kubernetes';
import type { DrainableCluster, DrainPod } from '@fairlead/kubernetes/drain';

export type { Manifest, SigningRequest, WorkloadView } from '@fairlead/kubernetes';

export type NodeView = Pick<FullNodeView, 'name' | 'ready' | 'message' | 'kubeletVersion' | 'cordonedBy'>;

/** The label `component` contains its name: kube-apiserver, kube-controller-manager, kube-scheduler or etcd. */
export type StaticPodView = Pick<PodView, 'node' | 'labels' | 'ready'>;

export type PlacedPod = DrainPod & Pick<PodView, 'ready'>;

/** The API calls for creating and dismantling a cluster. */
export interface KubernetesCluster
  extends
    DrainableCluster,
    Pick<
      ClusterApi,
      | 'apiServerAddresses'
      | 'apply'
      | 'configMap'
      | 'cordon'
      | 'deleteNode'
      | 'deleteObjects'
      | 'differences'
      | 'failingChecks'
      | 'label'
      | 'placed'
      | 'releaseOutside'
      | 'setNodeMetadata'
      | 'signClientCertificate'
      | 'uncordon'
      | 'untaint'
    > {
  nodes(): Promise<readonly NodeView[]>;
  node(name: string): Promise<NodeView | undefined>;
  podsOn(node: string): Promise<readonly PlacedPod[]>;
  staticPods(): Promise<readonly StaticPodView[]>;
  workload(
    kind: WorkloadView['kind'],
    namespace: string,
    name: string,
  ): Promise<Pick<WorkloadView, 'version' | 'desired' | 'ready'> | undefined>;
}

export type KubernetesApi = ClusterApis<KubernetesCluster>;
