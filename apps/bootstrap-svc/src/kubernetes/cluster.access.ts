import { WorldFailure, type SecretRef } from '@fairlead/contracts';
import { createHash, X509Certificate } from 'node:crypto';
import { parseDocument } from 'yaml';
import type { Known } from '../bootstrap/bootstrap.state.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import type { KubernetesApi, KubernetesCluster } from './kubernetes.ports.js';

export const kubeconfigRef = (uid: string): SecretRef => `bootstrap-svc.kubeconfig.${uid}` as SecretRef;
export const etcdAuthorityRef = (uid: string): SecretRef => `bootstrap-svc.etcd-ca.${uid}` as SecretRef;
export const joinCredentialsRef = (uid: string): SecretRef => `bootstrap-svc.join.${uid}` as SecretRef;

/** The same kubeconfig with the balanced address as its server: it must outlive the node on which it was made. */
export const withServer = (kubeconfig: string, server: string): string => {
  const document = parseDocument(kubeconfig);
  document.setIn(['clusters', 0, 'cluster', 'server'], server);
  return document.toString();
};

/** kubeadm's discovery hash: SHA-256 of the cluster CA's public key (SubjectPublicKeyInfo). */
export const caCertHashOf = (kubeconfig: string): string => {
  const encoded: unknown = parseDocument(kubeconfig).getIn(['clusters', 0, 'cluster', 'certificate-authority-data']);
  if (typeof encoded !== 'string') throw new Error('the kubeconfig names no certificate authority');
  const { publicKey } = new X509Certificate(Buffer.from(encoded, 'base64'));
  return `sha256:${createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;
};

/** When the client certificate in a kubeconfig ends (RFC 3339). */
export const clientCertificateEnd = (kubeconfig: string): string => {
  const encoded: unknown = parseDocument(kubeconfig).getIn(['users', 0, 'user', 'client-certificate-data']);
  if (typeof encoded !== 'string') throw new Error('the kubeconfig holds no client certificate');
  return new Date(new X509Certificate(Buffer.from(encoded, 'base64')).validTo).toISOString();
};

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
    return this.api.of({ uid: state.uid, cluster: state.spec.name, kubeconfig });
  }

  /** Seals the administrator's kubeconfig under the cluster's own key. */
  async seal(uid: string, kubeconfig: string): Promise<SecretRef> {
    const ref = kubeconfigRef(uid);
    await this.secrets.put(ref, kubeconfig, uid);
    return ref;
  }

  /** After this nobody can read any secret of the cluster. */
  async destroy(uid: string): Promise<void> {
    this.api.forget(uid);
    await this.secrets.destroyKey(uid, [kubeconfigRef(uid), joinCredentialsRef(uid), etcdAuthorityRef(uid)]);
  }
}
