import { refuse, type ManifestSpec, type Refusal } from '@fairlead/contracts';
import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** An API server does not start with a certificate that it cannot read. */
export const issuerCertificateFaults = ({ authentication }: ManifestSpec): readonly Refusal[] =>
  (authentication?.oidc?.ca?.match(CERTIFICATE) ?? []).flatMap((pem) => {
    try {
      new X509Certificate(pem);
      return [];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [refuse('cluster.oidc-ca', { reason }, 'spec.authentication.oidc.ca')];
    }
  });
