import type { KubernetesAccess, KubernetesClients } from '@fairlead/kubernetes';
import type { KubernetesApi, KubernetesCluster } from '../../kubernetes/kubernetes.ports.js';

/**
 * Clusters' APIs by @kubernetes/client-node, each with connections that are kept for a while. The library is loaded when the first cluster
 * is asked: evaluating its generated models is the most of a service's start.
 */
export class ClientNodeKubernetes implements KubernetesApi {
  private clients: KubernetesClients | undefined;

  async of(access: KubernetesAccess): Promise<KubernetesCluster> {
    const { KubernetesClients } = await import('@fairlead/kubernetes');
    const { ClientNodeCluster } = await import('./client-node.cluster.js');
    this.clients ??= new KubernetesClients();
    return new ClientNodeCluster(this.clients.of(access));
  }

  forget(uid: string): void {
    this.clients?.forget(uid);
  }

  close(): void {
    this.clients?.close();
  }
}
