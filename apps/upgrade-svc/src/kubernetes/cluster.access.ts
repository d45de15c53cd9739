import { ExternalFailure, type SecretRef } from '@fairlead/contracts';
import type { SecretStore } from '@fairlead/service-kit';
import { LRUCache } from 'lru-cache';
import type { KubernetesApi, UpgradeCluster } from './kubernetes.ports.js';

const ENTRIES_MAX = 2_000;
/** A replaced or destroyed kubeconfig is dropped from the cache within this time. */
const KEPT_MS = 60_000;

/**
 * Opens clusters as their administrator, with the kubeconfig that bootstrap-svc has sealed (ADR 7). Never writes it.
 */
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

  /** The kubeconfig was replaced: the next access reads it, and opens new connections. */
  forget(uid: string): void {
    this.kubeconfigs.delete(uid);
    this.api.forget(uid);
  }

  private async read(uid: string, cluster: string): Promise<string> {
    const kubeconfig = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    if (kubeconfig !== undefined) {
      // Set only where it is read, so that use does not extend its lifetime.
      this.kubeconfigs.set(uid, kubeconfig);
      return kubeconfig;
    }
    throw new ExternalFailure({
      operation: 'reach the Kubernetes API',
      target: cluster,
      message: 'the secret with the kubeconfig of the cluster does not exist',
      retryable: false,
    });
  }
}
