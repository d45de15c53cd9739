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
# shellcheck source=cluster.sh
source "$(dirname "$0")/cluster.sh"

prepare() {
  {
    software
    echo 'for image in "$mirror/images/$version"/*.tar "$mirror"/images/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done'
  } | on "$1" bash -s "$version"
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

init_config "${hosts[0]}" | on "${hosts[0]}" 'cat >/root/kubeadm.yaml'
on "${hosts[0]}" kubeadm init --config /root/kubeadm.yaml --upload-certs >"$here/init" 2>&1 </dev/null || { cat "$here/init" >&2; exit 1; }
done_with 'kubeadm init'

kubectl='kubectl --kubeconfig /etc/kubernetes/admin.conf'
on "${hosts[0]}" "$kubectl apply -f -" <"$flannel" >/dev/null
done_with 'network applied'
wait "${preparing[@]:1}"

hash=$(grep -o 'sha256:[0-9a-f]*' "$here/init" | head -n 1)
certificate=$(grep -o 'certificate-key [0-9a-f]*' "$here/init" | awk '{ print $2 }' | head -n 1)
join="kubeadm join $endpoint:6443 --token $token --discovery-token-ca-cert-hash $hash"
join="$join --cri-socket $cri_socket --ignore-preflight-errors=SystemVerification,ImagePull"
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
