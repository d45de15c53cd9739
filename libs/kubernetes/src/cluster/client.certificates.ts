import { ExternalFailure } from '@fairlead/contracts';
import type { KubernetesClient } from '../kubernetes.client.js';
import type { V1CertificateSigningRequest } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SigningRequest } from '../cluster.ports.js';

const SIGNER = 'kubernetes.io/kube-apiserver-client';
const OPERATION = 'sign a client certificate';
const SIGNED_WITHIN_MS = 10_000;
const POLL_INTERVAL_MS = 100;

const APPROVED = {
  type: 'Approved',
  status: 'True',
  reason: 'FairleadRequest',
  message: 'An operator asked Fairlead for a kubeconfig',
} as const;

const requestOf = ({ name, csr, ttlSeconds }: SigningRequest): V1CertificateSigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
  spec: {
    request: Buffer.from(csr).toString('base64'),
    signerName: SIGNER,
    expirationSeconds: ttlSeconds,
    usages: ['digital signature', 'client auth'],
  },
});

const refused = (name: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: OPERATION, target: name, message, retryable: false });

/** kube-controller-manager signs an approved request shortly after, or records why not. */
const signed = async (client: KubernetesClient, name: string, signal: AbortSignal): Promise<string> => {
  const deadline = Date.now() + SIGNED_WITHIN_MS;
  while (Date.now() < deadline) {
    const { status } = await client.call(OPERATION, () => client.certificates.readCertificateSigningRequest({ name }));
    if (status?.certificate !== undefined && status.certificate !== '') return status.certificate;
    const no = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
    if (no !== undefined) throw refused(name, `${no.type}: ${no.message ?? no.reason ?? 'no reason was given'}`);
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
  const message = `it was approved, and not signed within ${SIGNED_WITHIN_MS / 1000} s`;
  throw new ExternalFailure({ operation: OPERATION, target: name, message });
};

/** See ClusterApi.signClientCertificate. */
export const signClientCertificate = async (
  client: KubernetesClient,
  request: SigningRequest,
  signal: AbortSignal,
): Promise<string> => {
  const { name } = request;
  const { certificates } = client;
  const created = await client.call(OPERATION, () =>
    certificates.createCertificateSigningRequest({ body: requestOf(request) }),
  );
  try {
    const body = { ...created, status: { conditions: [APPROVED] } };
    await client.call(OPERATION, () => certificates.replaceCertificateSigningRequestApproval({ name, body }));
    return await signed(client, name, signal);
  } finally {
    // Kubernetes itself deletes requests within an hour or a day.
    await client
      .find(OPERATION, () => certificates.deleteCertificateSigningRequest({ name }))
      .catch((error: unknown) => {
        if (!(error instanceof ExternalFailure)) throw error;
      });
  }
};
