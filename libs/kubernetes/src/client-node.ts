import type { ClusterApi, ClusterApis } from './cluster.ports.js';
import type { KubernetesAccess, KubernetesClients } from './kubernetes.clients.js';

/**
 * Clusters' APIs by @kubernetes/client-node, each with connections that are kept for a while. The library is loaded when the first cluster
 * is asked: evaluating its generated models is the most of a service's start.
 */
export class ClientNodeKubernetes implements ClusterApis {
  private clients: KubernetesClients | undefined;

  /** `clientKeptMs`: how long the client of a cluster is kept without use; undefined: as long as looks at all clusters may be apart. */
  constructor(private readonly clientKeptMs?: number) {}

  async of(access: KubernetesAccess): Promise<ClusterApi> {
    const { KubernetesClients } = await import('./kubernetes.clients.js');
    const { ClientNodeCluster } = await import('./cluster/client-node.cluster.js');
    this.clients ??= new KubernetesClients(this.clientKeptMs);
    return new ClientNodeCluster(this.clients.of(access));
  }

  forget(uid: string): void {
    this.clients?.forget(uid);
  }

  close(): void {
    this.clients?.close();
  }
}
