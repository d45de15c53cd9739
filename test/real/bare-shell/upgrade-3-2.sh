#!/usr/bin/env bash
# The yardstick of upgrades: what a careful person does by hand on the cluster that create-3-2.sh made. Every node in its turn: drain,
# kubeadm upgrade, kubelet, uncordon. Prints the seconds after its beginning at which each step was done.
#
#   upgrade-3-2.sh KEY VERSION CP1 CP2 CP3 W1 W2
set -euo pipefail
key=$1 version=$2
shift 2
hosts=("$@")
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
# shellcheck source=hosts.sh
source "$(dirname "$0")/hosts.sh"

kubectl() {
  on "${hosts[0]}" "kubectl --kubeconfig /etc/kubernetes/admin.conf $*" </dev/null
}
# Runs a step; what it printed is shown when it fails.
step() {
  local log="$here/$1"
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
}
images() {
  on "$1" bash -s "$version" <<'HOST'
set -euo pipefail
for image in /opt/fairlead/mirror/images/"$1"/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
HOST
}
upgrade() {
  on "$1" bash -s "$version" "$2" <<'HOST'
set -euo pipefail
version=$1 release=/opt/fairlead/mirror/release/$1/bin/linux/amd64
install -m 755 "$release/kubeadm" /usr/bin/kubeadm
if [ "$2" = first ]; then
  kubeadm upgrade apply "$version" -y --ignore-preflight-errors=SystemVerification,ImagePull,CreateJob
else
  # An API server that has just started denies requests until it has loaded the RBAC rules.
  for try in 1 2 3; do
    if kubeadm upgrade node --ignore-preflight-errors=SystemVerification,ImagePull; then break; fi
    [ "$try" != 3 ] || exit 1
    sleep 5
  done
fi
install -m 755 "$release/kubelet" /usr/bin/kubelet.new
mv /usr/bin/kubelet.new /usr/bin/kubelet
install -m 755 "$release/kubectl" /usr/bin/kubectl
systemctl restart kubelet
HOST
}
is_ready() {
  local node
  node=$(kubectl get node "$1" --no-headers 2>/dev/null) || return 1
  grep -qw "$version" <<<"$node" && grep -qw Ready <<<"$node"
}

importing=()
for host in "${hosts[@]}"; do
  images "$host" &
  importing+=($!)
done
for one in "${importing[@]}"; do wait "$one"; done
done_with 'images imported on all'

place=first
for host in "${hosts[@]}"; do
  name=$(on "$host" hostname </dev/null)
  step "drain-$name" kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --timeout=120s
  done_with "$name drained"
  step "upgrade-$name" upgrade "$host" "$place"
  done_with "$name upgraded"
  place=later
  for _ in $(seq 300); do
    if is_ready "$name"; then break; fi
    sleep 1
  done
  is_ready "$name" || { echo "$name is not Ready at $version" >&2; exit 1; }
  # The API server of the node that was just upgraded may not answer yet.
  for _ in $(seq 30); do
    if kubectl uncordon "$name" >"$here/uncordon-$name" 2>&1; then break; fi
    sleep 1
  done
  done_with "$name Ready at $version"
done
