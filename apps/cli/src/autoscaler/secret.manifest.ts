import { stringify } from 'yaml';
import type { IssuedAutoscalerCredentialView } from '../api/views.js';

/** The mount path of the Secret in the Deployment of docs/autoscaling.md. */
const MOUNTED_AT = '/etc/fairlead';

/** The file for Cluster Autoscaler's `--cloud-config`. */
const cloudConfig = (address: string): string =>
  stringify({
    address,
    key: `${MOUNTED_AT}/tls.key`,
    cert: `${MOUNTED_AT}/tls.crt`,
    cacert: `${MOUNTED_AT}/ca.crt`,
  });

/** A Secret with a client certificate, its key, the server's authority, and the configuration that refers to them. */
export const secretManifest = (
  { id, address, certificate, caCertificate, expiresAt }: IssuedAutoscalerCredentialView,
  key: string,
): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'fairlead-autoscaler',
      namespace: 'kube-system',
      annotations: { 'fairlead.dev/credential': id, 'fairlead.dev/expires-at': expiresAt },
    },
    type: 'Opaque',
    stringData: {
      'cloud-config.yaml': cloudConfig(address),
      'tls.key': key,
      'tls.crt': certificate,
      'ca.crt': caCertificate,
    },
  });
