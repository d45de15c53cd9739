import { stringify } from 'yaml';
import type { KeyPair } from './certificate.authority.js';

export interface KubeconfigContent {
  readonly cluster: string;
  readonly server: string;
  readonly caPem: string;
  readonly user: string;
  readonly credentials: KeyPair;
}

/** A kubeconfig file with everything in it, in the form that kubeadm writes. */
export const kubeconfigText = ({ cluster, server, caPem, user, credentials }: KubeconfigContent): string => {
  const context = `${user}@${cluster}`;
  return stringify({
    apiVersion: 'v1',
    clusters: [{ cluster: { 'certificate-authority-data': base64(caPem), server }, name: cluster }],
    contexts: [{ context: { cluster, user }, name: context }],
    'current-context': context,
    kind: 'Config',
    preferences: {},
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(credentials.certPem), 'client-key-data': base64(credentials.keyPem) },
      },
    ],
  });
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
