import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Why PEM certificates cannot be parsed; undefined: they can be. */
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
