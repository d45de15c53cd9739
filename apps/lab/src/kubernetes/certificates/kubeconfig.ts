import type { KeyPair } from './certificate.authority.js';

export interface KubeconfigContent {
  readonly cluster: string;
  readonly server: string;
  readonly caPem: string;
  readonly user: string;
  readonly credentials: KeyPair;
}

/** Quoted as JSON, which is valid YAML: a plain name could be parsed as another type. */
const quoted = (text: string): string => JSON.stringify(text);

/**
 * A kubeconfig with embedded credentials, in kubeadm's format. A template, because a YAML serializer took 1 ms for each
 * of three files of a cluster.
 */
export const kubeconfigText = ({ cluster, server, caPem, user, credentials }: KubeconfigContent): string => {
  const context = quoted(`${user}@${cluster}`);
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${base64(caPem)}
    server: ${quoted(server)}
  name: ${quoted(cluster)}
contexts:
- context:
    cluster: ${quoted(cluster)}
    user: ${quoted(user)}
  name: ${context}
current-context: ${context}
kind: Config
preferences: {}
users:
- name: ${quoted(user)}
  user:
    client-certificate-data: ${base64(credentials.certPem)}
    client-key-data: ${base64(credentials.keyPem)}
`;
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
