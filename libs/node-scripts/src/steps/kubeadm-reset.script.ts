import { AGENT_PATHS } from '@fairlead/contracts';
import { CRI_SOCKET } from '../kubeadm/kubeadm.types.js';
import { hostPath } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface KubeadmResetInput {
  /** Also takes the agent and its configuration off the host. */
  readonly removeAgent: boolean;
}

export interface KubeadmResetResult {
  readonly changed: boolean;
}

/** Makes the host one that never was a node, so that it can be used again. Every part is left alone where it is clean. */
export const kubeadmResetScript = ({ removeAgent }: KubeadmResetInput): HostScript =>
  script(
    { step: 'kubeadm-reset', limitSeconds: 300, lockSeconds: 120 },
    `
changed=false
${
  removeAgent
    ? `
if [ -e ${hostPath(AGENT_PATHS.unit)} ]; then
  changed=true
  systemctl disable --now fairlead-agent.service >>"$log" 2>&1 || true
  rm -f ${hostPath(AGENT_PATHS.unit)} ${hostPath(AGENT_PATHS.config)} ${hostPath(AGENT_PATHS.credentials)} ${hostPath(AGENT_PATHS.state)}
  rm -f "$root/var/lib/fairlead/agent.started"
  systemctl daemon-reload >>"$log" 2>&1 || true
fi`
    : ''
}
if [ -e "$root/etc/kubernetes/kubelet.conf" ] || [ -e "$root/etc/kubernetes/admin.conf" ] || [ -d "$root/var/lib/etcd/member" ]; then
  changed=true
  run kubeadm reset --force --cri-socket ${CRI_SOCKET}
fi
rm -rf "$root/var/lib/etcd" "$root/etc/cni/net.d" "$root/var/lib/cni" "$root/run/flannel"
rm -f "$root"/etc/kubernetes/*.conf "$root"/var/lib/fairlead/kubeadm-*.started "$root"/var/lib/fairlead/kubeadm-*.finished
rm -f "$root/etc/fairlead/kubeadm-init.yaml" "$root/etc/fairlead/kubeadm-join.yaml" "$root/etc/fairlead/upload-certs.yaml"
result "{\\"changed\\":$changed}"
`,
  );
