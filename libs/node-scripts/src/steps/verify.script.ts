import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface VerifyInput {
  readonly controlPlane: boolean;
  /** The node's own address, on which the ports must be free. */
  readonly address: string;
  /** `v1.34.4` */
  readonly kubernetesVersion: string;
  readonly failSwapOn: boolean;
}

export interface VerifyResult {
  /** Problems that kubeadm's preflight would report, one sentence each; empty: none. */
  readonly problems: readonly string[];
}

/** Ports of kubeadm's preflight checks (kubernetes.io, "Ports and Protocols"). */
const WORKER_PORTS = [10250];
const CONTROL_PLANE_PORTS = [6443, 2379, 2380, 10250, 10257, 10259];

/** Checks, without changes, that the host meets the requirements of kubeadm's preflight. */
export const verifyScript = ({ controlPlane, address, kubernetesVersion, failSwapOn }: VerifyInput): HostScript =>
  script(
    { step: 'verify', limitSeconds: 60, lockSeconds: 30 },
    `
problems=''
problem() {
  problems="$problems\${problems:+,}$(json_text "$1")"
}

desired=${quote(kubernetesVersion)}
found=$(kubeadm version -o short 2>/dev/null || true)
[ "$found" = "$desired" ] || problem "kubeadm is \${found:-missing}, not $desired"
found=$(kubelet --version 2>/dev/null | awk '{print $2}' || true)
[ "$found" = "$desired" ] || problem "kubelet is \${found:-missing}, not $desired"

[ -S "$root/run/containerd/containerd.sock" ] || systemctl is-active --quiet containerd ||
  problem 'the container runtime does not listen at /run/containerd/containerd.sock'
${
  failSwapOn
    ? `
if [ -r "$root/proc/swaps" ] && [ "$(wc -l <"$root/proc/swaps")" -gt 1 ]; then
  problem 'swap is on'
fi`
    : ''
}
if [ -r "$root/proc/sys/net/ipv4/ip_forward" ] && [ "$(cat "$root/proc/sys/net/ipv4/ip_forward")" != 1 ]; then
  problem 'net.ipv4.ip_forward is not 1'
fi

# A node of this cluster holds its ports itself.
if [ ! -e "$root/etc/kubernetes/kubelet.conf" ] && command -v ss >/dev/null 2>&1; then
  for port in ${(controlPlane ? CONTROL_PLANE_PORTS : WORKER_PORTS).join(' ')}; do
    if ss -Htln 2>/dev/null | awk '{print $4}' | grep -qxF \\
      -e "*:$port" -e "0.0.0.0:$port" -e "[::]:$port" -e ${quote(address)}":$port"; then
      problem "port $port is in use"
    fi
  done
fi
result "{\\"problems\\":[$problems]}"
`,
  );
