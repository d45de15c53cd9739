import { LRUCache } from 'lru-cache';
import type { RecordedCluster } from './kubeconfig.js';
import { KubernetesClient } from './kubernetes.client.js';

const CLIENTS_MAX = 2_000;
/**
 * Longer than the interval between two polls of a cluster's Nodes, which is up to 2,200 s with 1,000 clusters, so that
 * its kubeconfig is not validated each time. Connections are closed much sooner; the next one resumes the previous TLS
 * session.
 */
const CLIENT_KEPT_MS = 40 * 60_000;

/** Access to a cluster's API: as its administrator, through the load balancer. */
export interface KubernetesAccess {
  readonly uid: string;
  readonly cluster: string;
  /** The sealed form. */
  readonly kubeconfig: string;
  /** The log's data about it, if the calling service has it. */
  readonly recorded?: RecordedCluster;
}

/** The clients of many clusters; each keeps its connections while it is used. */
export class KubernetesClients {
  private readonly clients: LRUCache<string, KubernetesClient>;

  /** `keptMs`: maximum idle time. */
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
    // Every call renews it: clients in use are not closed.
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
