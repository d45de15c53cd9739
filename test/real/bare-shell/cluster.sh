# What both yardsticks of creation put on hosts; sourced, with `version` and `endpoint` set.
# shellcheck shell=bash disable=SC2154

token=abcdef.0123456789abcdef
cri_socket=unix:///run/containerd/containerd.sock

# The script that installs Kubernetes on a host, from the mirror that it has; the version is its first word.
software() {
  cat <<'HOST'
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
HOST
}

# The configuration of `kubeadm init` on the host at that address; further lines of its InitConfiguration come second.
init_config() {
  cat <<CONFIG
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: $1, bindPort: 6443}
nodeRegistration: {criSocket: $cri_socket, imagePullPolicy: Never, ignorePreflightErrors: [SystemVerification]}
bootstrapTokens: [{token: "$token", ttl: 1h0m0s}]
${2:-}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $version
controlPlaneEndpoint: "$endpoint:6443"
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
}
