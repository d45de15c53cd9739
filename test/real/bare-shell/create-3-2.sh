#!/usr/bin/env bash
# The yardstick: 3 control planes and 2 workers from kubeadm by plain shell, on hosts that answer SSH and have a mirror at
# /opt/fairlead/mirror. Prints the seconds after its beginning at which each step was done, and ends when all five are Ready.
#
#   create-3-2.sh KEY VERSION ENDPOINT FLANNEL CP1 CP2 CP3 W1 W2
#
# KEY opens root on the hosts; ENDPOINT is the address of a balancer in front of the control planes (port 6443); FLANNEL is a
# file with the network's manifests; the rest are the hosts' addresses.
set -euo pipefail
key=$1 version=$2 endpoint=$3 flannel=$4
shift 4
hosts=("$@")
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
# shellcheck source=hosts.sh
source "$(dirname "$0")/hosts.sh"

prepare() {
  on "$1" bash -s "$version" <<'HOST'
set -euo pipefail
version=$1 mirror=/opt/fairlead/mirror
for name in kubeadm kubelet kubectl; do install -m 755 "$mirror/release/$version/bin/linux/amd64/$name" "/usr/bin/$name"; done
mkdir -p /opt/cni/bin /etc/cni/net.d /etc/containerd /usr/lib/systemd/system/kubelet.service.d
for plugins in "$mirror"/cni-plugins/*/*.tgz; do tar -C /opt/cni/bin -xzf "$plugins"; done
pause=$(kubeadm config images list --kubernetes-version "$version" 2>/dev/null | grep /pause:)
containerd config default | sed -e 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' \
  -e "s#sandbox_image = .*#sandbox_image = \"$pause\"#" -e 's#bin_dir = .*#bin_dir = "/opt/cni/bin"#' >/etc/containerd/config.toml
systemctl restart containerd
cat >/usr/lib/systemd/system/kubelet.service <<'UNIT'
[Unit]
After=containerd.service
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10
[Install]
WantedBy=multi-user.target
UNIT
cat >/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf <<'UNIT'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
UNIT
systemctl daemon-reload
systemctl -q enable kubelet
sysctl -q -w net.ipv4.ip_forward=1
for image in "$mirror/images/$version"/*.tar "$mirror"/images/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
HOST
}

for host in "${hosts[@]}"; do
  for _ in $(seq 300); do
    if on "$host" true </dev/null 2>/dev/null; then break; fi
    sleep 0.1
  done
done
done_with 'five hosts answer SSH'

preparing=()
for host in "${hosts[@]}"; do
  prepare "$host" >"$here/prepare-$host" 2>&1 &
  preparing+=($!)
done
wait "${preparing[0]}"
done_with 'the first host is prepared'

on "${hosts[0]}" bash -s "${hosts[0]}" "$version" "$endpoint" >"$here/init" 2>&1 <<'HOST' || { cat "$here/init" >&2; exit 1; }
set -euo pipefail
cat >/root/kubeadm.yaml <<CONFIG
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: $1, bindPort: 6443}
nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock, imagePullPolicy: Never, ignorePreflightErrors: [SystemVerification]}
bootstrapTokens: [{token: "abcdef.0123456789abcdef", ttl: 1h0m0s}]
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $2
controlPlaneEndpoint: "$3:6443"
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
resolvConf: /etc/resolv.conf
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
conntrack: {maxPerCore: 0, min: 0}
CONFIG
kubeadm init --config /root/kubeadm.yaml --upload-certs 2>&1
HOST
done_with 'kubeadm init'

kubectl='kubectl --kubeconfig /etc/kubernetes/admin.conf'
on "${hosts[0]}" "$kubectl apply -f -" <"$flannel" >/dev/null
done_with 'network applied'
wait "${preparing[@]:1}"

hash=$(grep -o 'sha256:[0-9a-f]*' "$here/init" | head -n 1)
certificate=$(grep -o 'certificate-key [0-9a-f]*' "$here/init" | awk '{ print $2 }' | head -n 1)
join="kubeadm join $endpoint:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash $hash"
join="$join --cri-socket unix:///run/containerd/containerd.sock --ignore-preflight-errors=SystemVerification,ImagePull"
workers=()
for host in "${hosts[@]:3}"; do
  on "$host" "$join" >"$here/join-$host" 2>&1 </dev/null &
  workers+=($!)
done
for host in "${hosts[@]:1:2}"; do
  on "$host" "$join --control-plane --certificate-key $certificate" >"$here/join-$host" 2>&1 </dev/null || {
    cat "$here/join-$host" >&2
    exit 1
  }
  done_with "control plane $host joined"
done
wait "${workers[@]}"
for _ in $(seq 300); do
  ready=$(on "${hosts[0]}" "$kubectl get nodes --no-headers" </dev/null 2>/dev/null | grep -cw Ready || true)
  if [ "$ready" = 5 ]; then break; fi
  sleep 0.5
done
[ "$ready" = 5 ] || { echo "only $ready nodes are Ready" >&2; exit 1; }
done_with 'five nodes Ready'
