import type { KeyPair } from './certificate.authority.js';

export interface KubeconfigContent {
  readonly cluster: string;
  readonly server: string;
  readonly caPem: string;
  readonly user: string;
  readonly credentials: KeyPair;
}

/** As JSON, which is YAML: a name may be a word that YAML takes for something else than a text. */
const quoted = (text: string): string => JSON.stringify(text);

/** A kubeconfig file with everything in it, in the form that kubeadm writes. A template, since a general writer of YAML was 1 ms for each of three files of a cluster. */
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
