const DAY_MS = 24 * 3_600_000;

/** F: certificates are renewed this long before they end (kubeadm's live a year). */
export const RENEW_BEFORE_MS = 90 * DAY_MS;

export interface Certificate {
  readonly name: string;
  readonly expiresAt: string;
}

/** F1: leaf certificates that should be renewed now. Authorities need a rotation, which no renewal is. */
export const f1Expiring = (certificates: readonly Certificate[], now: string): readonly Certificate[] =>
  certificates.filter(
    ({ name, expiresAt }) => !isAuthority(name) && Date.parse(expiresAt) - Date.parse(now) < RENEW_BEFORE_MS,
  );

/** As kubeadm names them in "certs check-expiration": ca, etcd-ca, front-proxy-ca. */
export const isAuthority = (name: string): boolean => name === 'ca' || name.endsWith('-ca');
