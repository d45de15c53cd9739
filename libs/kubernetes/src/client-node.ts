import type { ClusterApi, ClusterApis } from './cluster.ports.js';
import type { KubernetesAccess, KubernetesClients } from './kubernetes.clients.js';

/**
 * Cluster APIs by @kubernetes/client-node, with connections that are kept for a while. The library is loaded on first
 * use: evaluating its generated models would dominate a service's startup.
 */
export class ClientNodeKubernetes implements ClusterApis {
  private clients: KubernetesClients | undefined;

  /** `clientKeptMs`: how long an unused client is kept; undefined: as long as polls of a cluster may be apart. */
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
