const DAY_MS = 24 * 3_600_000;

/** F: certificates are renewed this long before they expire (kubeadm's are valid for a year). */
export const RENEW_BEFORE_MS = 90 * DAY_MS;

export interface EndingCertificate {
  readonly name: string;
  readonly expiresAt: string;
}

/** CA names of "kubeadm certs check-expiration": ca, etcd-ca, front-proxy-ca. */
export const isAuthority = ({ name }: Pick<EndingCertificate, 'name'>): boolean =>
  name === 'ca' || name.endsWith('-ca');

/** A kubelet's client certificate, which the kubelet renews itself when a tenth to a third of its lifetime is left. */
export const KUBELET_CERTIFICATE = 'kubelet';

/** A kubelet certificate (one year) that expires sooner was not renewed in time. */
export const KUBELET_LATE_MS = 30 * DAY_MS;

/** The administrator's kubeconfig on a control plane. Fairlead uses a copy of it. */
export const ADMIN_CERTIFICATE = 'admin.conf';

export const isOfKubelet = ({ name }: Pick<EndingCertificate, 'name'>): boolean => name === KUBELET_CERTIFICATE;

const endsWithin = ({ expiresAt }: EndingCertificate, now: string, ms: number): boolean =>
  Date.parse(expiresAt) - Date.parse(now) < ms;

/** F1: leaf certificates that should be renewed now. CAs need a rotation instead, and kubelets renew their own. */
export const f1Expiring = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => !isAuthority(one) && !isOfKubelet(one) && endsWithin(one, now, RENEW_BEFORE_MS));

/** Leaf certificates of a control plane that have expired, or expire within `ms`. */
export const endedOf = <C extends EndingCertificate>(certificates: readonly C[], now: string, ms = 0): readonly C[] =>
  certificates.filter((one) => !isAuthority(one) && !isOfKubelet(one) && endsWithin(one, now, ms));

/** Kubelet certificates that were not renewed in time. */
export const lateOfKubelets = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => isOfKubelet(one) && endsWithin(one, now, KUBELET_LATE_MS));

/** Kubelet certificates that have expired: the API server rejects them. */
export const endedOfKubelets = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => isOfKubelet(one) && endsWithin(one, now, 0));
