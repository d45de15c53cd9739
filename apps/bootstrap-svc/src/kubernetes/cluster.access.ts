import { ExternalFailure, type SecretRef } from '@fairlead/contracts';
import {
  kubeconfigToSeal,
  sealedAdministrator,
  type Administrator,
  type RecordedCluster,
} from '@fairlead/kubernetes/kubeconfig';
import type { Cluster } from '../bootstrap/bootstrap.state.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import type { KubernetesApi, KubernetesCluster } from './kubernetes.ports.js';

export const kubeconfigRef = (uid: string): SecretRef => `bootstrap-svc.kubeconfig.${uid}` as SecretRef;
export const etcdAuthorityRef = (uid: string): SecretRef => `bootstrap-svc.etcd-ca.${uid}` as SecretRef;
export const joinCredentialsRef = (uid: string): SecretRef => `bootstrap-svc.join.${uid}` as SecretRef;

/** The first credentials of a host that connects by itself: sealed for the gateway, which sends them to the host. */
export const channelRef = (host: string): SecretRef => `bootstrap-svc.channel.${host}` as SecretRef;

/** The sealed kubeconfig for an operator's request. */
export const readerRef = (requestId: string): SecretRef => `bootstrap-svc.reader.${requestId}` as SecretRef;

/** The sealed output of an operator's command on a node. */
export const execRef = (requestId: string): SecretRef => `bootstrap-svc.exec.${requestId}` as SecretRef;

/** The data needed to reach the API of a cluster. */
export interface Reachable {
  readonly uid: string;
  readonly cluster: string;
  /** As recorded by ControlPlaneInitialized. */
  readonly recorded: RecordedCluster | undefined;
}

export interface SealedReader {
  readonly uid: string;
  readonly requestId: string;
  readonly kubeconfig: string;
}

/** Connects to clusters with the sealed kubeconfig of their administrator. */
export class ClusterAccess {
  constructor(
    private readonly api: KubernetesApi,
    private readonly secrets: RememberedSecrets,
  ) {}

  async of({ uid, spec, controlPlane }: Cluster): Promise<KubernetesCluster> {
    const recorded =
      controlPlane === null ? undefined : { server: controlPlane.endpoint, caCertHash: controlPlane.caCertHash };
    return this.reach({ uid, cluster: spec.name, recorded }, await this.kubeconfig(uid, spec.name));
  }

  /** The API, and the administrator whose credentials it uses. */
  async open(at: Reachable): Promise<{ readonly api: KubernetesCluster; readonly administrator: Administrator }> {
    const kubeconfig = await this.kubeconfig(at.uid, at.cluster);
    const administrator = sealedAdministrator(kubeconfig, at.cluster, at.recorded);
    return { api: await this.reach(at, kubeconfig), administrator };
  }

  /** Seals a kubeconfig of the administrator with the cluster's own key. It is generated here, from verified fields. */
  async seal({ uid, spec }: Cluster, administrator: Administrator): Promise<SecretRef> {
    const ref = kubeconfigRef(uid);
    await this.secrets.put(ref, kubeconfigToSeal(spec.name, administrator), uid);
    return ref;
  }

  /** Seals the kubeconfig for an operator's request. */
  async sealReader({ uid, requestId, kubeconfig }: SealedReader): Promise<SecretRef> {
    const ref = readerRef(requestId);
    await this.secrets.seal(ref, kubeconfig, uid);
    return ref;
  }

  async removeReader(requestId: string): Promise<void> {
    await this.secrets.delete(readerRef(requestId));
  }

  /** Afterwards no secret of the cluster can be read. */
  async destroy(uid: string): Promise<void> {
    this.api.forget(uid);
    await this.secrets.destroyKey(uid, [kubeconfigRef(uid), joinCredentialsRef(uid), etcdAuthorityRef(uid)]);
  }

  private async kubeconfig(uid: string, cluster: string): Promise<string> {
    const kubeconfig = await this.secrets.get(kubeconfigRef(uid));
    if (kubeconfig !== undefined) return kubeconfig;
    throw new ExternalFailure({
      operation: 'reach the Kubernetes API',
      target: cluster,
      message: 'the kubeconfig of the cluster is not among the secrets any more',
      retryable: false,
    });
  }

  private reach({ uid, cluster, recorded }: Reachable, kubeconfig: string): Promise<KubernetesCluster> {
    return this.api.of({ uid, cluster, kubeconfig, ...(recorded === undefined ? {} : { recorded }) });
  }
}
