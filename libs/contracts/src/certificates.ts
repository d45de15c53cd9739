const DAY_MS = 24 * 3_600_000;

/** F: certificates are renewed this long before they end (kubeadm's are valid for a year). */
export const RENEW_BEFORE_MS = 90 * DAY_MS;

export interface EndingCertificate {
  readonly name: string;
  readonly expiresAt: string;
}

/** As kubeadm names them in "certs check-expiration": ca, etcd-ca, front-proxy-ca. */
export const isAuthority = ({ name }: Pick<EndingCertificate, 'name'>): boolean =>
  name === 'ca' || name.endsWith('-ca');

/** The client certificate of a kubelet, which it renews itself when a tenth to a third of its time is left. */
export const KUBELET_CERTIFICATE = 'kubelet';

/** A kubelet whose certificate (of a year) ends sooner has not renewed it in time. */
export const KUBELET_LATE_MS = 30 * DAY_MS;

/** The administrator's kubeconfig on a control plane, whose copy Fairlead uses. */
export const ADMIN_CERTIFICATE = 'admin.conf';

export const isOfKubelet = ({ name }: Pick<EndingCertificate, 'name'>): boolean => name === KUBELET_CERTIFICATE;

const endsWithin = ({ expiresAt }: EndingCertificate, now: string, ms: number): boolean =>
  Date.parse(expiresAt) - Date.parse(now) < ms;

/** F1: leaf certificates that should be renewed now. CAs need a rotation instead, and kubelets renew their own. */
export const f1Expiring = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => !isAuthority(one) && !isOfKubelet(one) && endsWithin(one, now, RENEW_BEFORE_MS));

/** Leaf certificates of a control plane that have ended, or end within `ms`. */
export const endedOf = <C extends EndingCertificate>(certificates: readonly C[], now: string, ms = 0): readonly C[] =>
  certificates.filter((one) => !isAuthority(one) && !isOfKubelet(one) && endsWithin(one, now, ms));

/** Those of kubelets that did not renew them in time. */
export const lateOfKubelets = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => isOfKubelet(one) && endsWithin(one, now, KUBELET_LATE_MS));

/** Those of kubelets that have ended: the API refuses them. */
export const endedOfKubelets = <C extends EndingCertificate>(certificates: readonly C[], now: string): readonly C[] =>
  certificates.filter((one) => isOfKubelet(one) && endsWithin(one, now, 0));
