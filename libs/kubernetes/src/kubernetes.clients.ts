import { LRUCache } from 'lru-cache';
import type { RecordedCluster } from './kubeconfig.js';
import { KubernetesClient } from './kubernetes.client.js';

const CLIENTS_MAX = 2_000;
/**
 * Longer than between two looks at the Nodes of a cluster, which are up to 2,200 s apart with 1,000 clusters, so that its kubeconfig is not
 * checked again for each. Connections are closed much sooner; the next one resumes the session of the one before.
 */
const CLIENT_KEPT_MS = 40 * 60_000;

/** How a cluster's API is reached: as its administrator, through the load balancer. */
export interface KubernetesAccess {
  readonly uid: string;
  readonly cluster: string;
  /** As it is sealed. */
  readonly kubeconfig: string;
  /** What the log says of it, where the service that asks knows it. */
  readonly recorded?: RecordedCluster;
}

/** The clients of many clusters; each keeps its connections while it is used. */
export class KubernetesClients {
  private readonly clients: LRUCache<string, KubernetesClient>;

  /** `keptMs`: without use. */
  constructor(keptMs = CLIENT_KEPT_MS) {
    this.clients = new LRUCache({
      max: CLIENTS_MAX,
      ttl: keptMs,
      ttlAutopurge: true,
      updateAgeOnGet: true,
      dispose: (client) => client.close(),
    });
  }

  of({ uid, cluster, kubeconfig, recorded }: KubernetesAccess): KubernetesClient {
    const known = this.clients.get(uid);
    if (known?.kubeconfig === kubeconfig) return known;
    // Every call makes it younger: what is in use is not closed.
    const client = new KubernetesClient(cluster, kubeconfig, () => void this.clients.get(uid), recorded);
    this.clients.set(uid, client);
    return client;
  }

  forget(uid: string): void {
    this.clients.delete(uid);
  }

  close(): void {
    this.clients.clear();
  }
}
