import { ETCDCTL } from '../etcd/etcdctl.js';
import { initConfig } from '../kubeadm/kubeadm.config.js';
import type { ClusterSettings, NodeSettings } from '../kubeadm/kubeadm.types.js';
import { quote } from '../shell/quote.js';
import { onlyDuringStep, script, writeFile, type HostScript } from '../shell/script.js';
import { authenticationFile, cleanKubeadm } from './kubeadm.parts.js';

export interface KubeadmInitInput {
  readonly uid: string;
  readonly cluster: ClusterSettings;
  readonly node: NodeSettings;
  /** Whether workloads may run on the control plane: its taint is removed. */
  readonly schedulable: boolean;
}

export interface KubeadmInitResult {
  /** False: it was initialised already, by an earlier run of this step. */
  readonly changed: boolean;
  /** /etc/kubernetes/admin.conf in base64. */
  readonly kubeconfig: string;
}

const INIT_CONFIG = '/run/fairlead/kubeadm-init.yaml';
/** Its former location. */
const OLD_INIT_CONFIG = '/etc/fairlead/kubeadm-init.yaml';

/** No node has joined such a control plane, and its next CA would not be the one that signed these keys. */
const EMPTY_ETCD = `${ETCDCTL}
    run etcd del '' --prefix`;

/**
 * `kubeadm init`, exactly once: on a host that has finished it, it reports that and changes nothing; an interrupted one
 * is cleaned up first (no node has joined such a control plane); a host with another cluster's control plane is
 * rejected.
 */
export const kubeadmInitScript = ({ uid, cluster, node, schedulable }: KubeadmInitInput): HostScript =>
  script(
    { step: 'kubeadm-init', limitSeconds: 900, lockSeconds: 600 },
    `
${onlyDuringStep(INIT_CONFIG, OLD_INIT_CONFIG)}
admin_conf="$root/etc/kubernetes/admin.conf"
started="$root/var/lib/fairlead/"${quote(`kubeadm-init.${uid}.started`)}
finished="$root/var/lib/fairlead/"${quote(`kubeadm-init.${uid}.finished`)}
changed=false

write_config() {
${writeFile(INIT_CONFIG, '600', initConfig(cluster, { ...node, schedulable }))}
${authenticationFile(cluster)}
}

if [ ! -e "$finished" ]; then
  if [ -e "$admin_conf" ] && [ ! -e "$started" ]; then
    fail 'this host is a control plane already (/etc/kubernetes/admin.conf exists): refusing to initialise it again'
  fi
  if [ -e "$started" ]; then
${cleanKubeadm(cluster)}${cluster.etcdEndpoints === null ? '' : EMPTY_ETCD}
  fi
  : >"$started"
  write_config
  run kubeadm init --config "$root${INIT_CONFIG}" --skip-token-print --skip-certificate-key-print
  : >"$finished"
  changed=true
fi
# It opens everything past RBAC, and nobody needs it after the first start.
rm -f "$root/etc/kubernetes/super-admin.conf"

[ -s "$admin_conf" ] || fail '/etc/kubernetes/admin.conf is gone from a control plane that was initialised'
result "{\\"changed\\":$changed,\\"kubeconfig\\":\\"$(base64 <"$admin_conf" | tr -d '\\n')\\"}"
`,
  );
