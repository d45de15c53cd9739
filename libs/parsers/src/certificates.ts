import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Why certificates in PEM cannot be read; undefined: they can. */
export const certificateFault = (pem: string): string | undefined => {
  for (const certificate of pem.match(CERTIFICATE) ?? []) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return undefined;
};
