import type { KubernetesAccess } from '@fairlead/kubernetes';
import type { KubernetesApi, KubernetesCluster } from '../../kubernetes/kubernetes.ports.js';
import type { ClientNodeClusters } from './client-node.clusters.js';

/**
 * Clusters' APIs by @kubernetes/client-node, each with connections that are kept for a while. The library is loaded when the first cluster
 * is asked: evaluating its generated models is the most of a service's start.
 */
export class ClientNodeKubernetes implements KubernetesApi {
  private clusters: ClientNodeClusters | undefined;

  async of(access: KubernetesAccess): Promise<KubernetesCluster> {
    const { ClientNodeClusters } = await import('./client-node.clusters.js');
    this.clusters ??= new ClientNodeClusters();
    return this.clusters.of(access);
  }

  forget(uid: string): void {
    this.clusters?.forget(uid);
  }

  close(): void {
    this.clusters?.close();
  }
}
