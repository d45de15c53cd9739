const DAY_MS = 24 * 3_600_000;

/** F: certificates are renewed this long before they end (kubeadm's are valid for a year). */
export const RENEW_BEFORE_MS = 90 * DAY_MS;

export interface EndingCertificate {
  readonly name: string;
  readonly expiresAt: string;
}

/** As kubeadm names them in "certs check-expiration": ca, etcd-ca, front-proxy-ca. */
const isAuthority = (name: string): boolean => name === 'ca' || name.endsWith('-ca');

/** F1: leaf certificates that should be renewed now. CAs need a rotation instead. */
export const f1Expiring = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter(
    ({ name, expiresAt }) => !isAuthority(name) && Date.parse(expiresAt) - Date.parse(now) < RENEW_BEFORE_MS,
  );
