import { WorldFailure, type SecretRef } from '@fairlead/contracts';
import type { SecretStore } from '@fairlead/service-kit';
import { LRUCache } from 'lru-cache';
import type { KubernetesApi, UpgradeCluster } from './kubernetes.ports.js';

const ENTRIES_MAX = 2_000;
/** A kubeconfig that was replaced or destroyed is forgotten within this time. */
const KEPT_MS = 60_000;

/** Opens clusters as their administrator, with the kubeconfig that bootstrap-svc has sealed (ADR 7): read, never written. */
export class ClusterAccess {
  private readonly kubeconfigs = new LRUCache<string, string>({ max: ENTRIES_MAX, ttl: KEPT_MS, ttlAutopurge: true });

  constructor(
    private readonly api: KubernetesApi,
    private readonly secrets: Pick<SecretStore, 'get'>,
  ) {}

  async of(uid: string, cluster: string): Promise<UpgradeCluster> {
    const kubeconfig = this.kubeconfigs.get(uid) ?? (await this.read(uid, cluster));
    return this.api.of({ uid, cluster, kubeconfig });
  }

  /** The kubeconfig was replaced: the next one who opens the cluster reads it, and opens connections of its own. */
  forget(uid: string): void {
    this.kubeconfigs.delete(uid);
    this.api.forget(uid);
  }

  private async read(uid: string, cluster: string): Promise<string> {
    const kubeconfig = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    if (kubeconfig !== undefined) {
      // Set where it is read and nowhere else: use must not make it younger.
      this.kubeconfigs.set(uid, kubeconfig);
      return kubeconfig;
    }
    throw new WorldFailure({
      operation: 'reach the Kubernetes API',
      target: cluster,
      message: 'the secret with the kubeconfig of the cluster does not exist',
      retryable: false,
    });
  }
}
