import { WorldFailure, type SecretRef } from '@fairlead/contracts';
import { kubeconfigOf, type Administrator } from '@fairlead/kubernetes/kubeconfig';
import type { Known } from '../bootstrap/bootstrap.state.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import type { KubernetesApi, KubernetesCluster } from './kubernetes.ports.js';

export const kubeconfigRef = (uid: string): SecretRef => `bootstrap-svc.kubeconfig.${uid}` as SecretRef;
export const etcdAuthorityRef = (uid: string): SecretRef => `bootstrap-svc.etcd-ca.${uid}` as SecretRef;
export const joinCredentialsRef = (uid: string): SecretRef => `bootstrap-svc.join.${uid}` as SecretRef;

/** Opens clusters: knows where their administrator's kubeconfig is sealed. */
export class ClusterAccess {
  constructor(
    private readonly api: KubernetesApi,
    private readonly secrets: RememberedSecrets,
  ) {}

  async of(state: Known): Promise<KubernetesCluster> {
    const kubeconfig = await this.secrets.get(kubeconfigRef(state.uid));
    if (kubeconfig === undefined)
      throw new WorldFailure({
        operation: 'reach the Kubernetes API',
        target: state.spec.name,
        message: 'the kubeconfig of the cluster is not among the secrets any more',
        retryable: false,
      });
    const { controlPlane } = state;
    return this.api.of({
      uid: state.uid,
      cluster: state.spec.name,
      kubeconfig,
      ...(controlPlane === null
        ? {}
        : { recorded: { server: controlPlane.endpoint, caCertHash: controlPlane.caCertHash } }),
    });
  }

  /** Seals a kubeconfig of the administrator under the cluster's own key: one that is written here, of what was checked. */
  async seal({ uid, spec }: Known, administrator: Administrator): Promise<SecretRef> {
    const ref = kubeconfigRef(uid);
    await this.secrets.put(ref, kubeconfigOf(spec.name, administrator), uid);
    return ref;
  }

  /** After this nobody can read any secret of the cluster. */
  async destroy(uid: string): Promise<void> {
    this.api.forget(uid);
    await this.secrets.destroyKey(uid, [kubeconfigRef(uid), joinCredentialsRef(uid), etcdAuthorityRef(uid)]);
  }
}
