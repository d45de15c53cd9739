import { script, type HostScript } from '../shell/script.js';

export type ReadKubeconfigInput = Readonly<Record<string, never>>;

export interface ReadKubeconfigResult {
  /** /etc/kubernetes/admin.conf in base64. */
  readonly kubeconfig: string;
}

/**
 * Reads the administrator's kubeconfig on a control plane, which kubeadm renews with its certificates. Changes nothing.
 */
export const readKubeconfigScript = (): HostScript =>
  script(
    { step: 'read-kubeconfig', limitSeconds: 30, lockSeconds: null },
    `
admin_conf="$root/etc/kubernetes/admin.conf"
[ -s "$admin_conf" ] || fail '/etc/kubernetes/admin.conf is gone from a control plane'
result "{\\"kubeconfig\\":\\"$(base64 <"$admin_conf" | tr -d '\\n')\\"}"
`,
  );
