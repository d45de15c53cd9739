#!/usr/bin/env bash
# The yardstick of an expert: the cluster of create-3-2.sh on the same hosts, with everything overlapped that can be. Its arguments are
# those of create-3-2.sh, and so is what it prints.
#
#   - One SSH connection for each host; each host is prepared as soon as it answers.
#   - The authority of the cluster and the key of its certificates are made here while the hosts boot, so that nothing has to be read from
#     what `kubeadm init` prints.
#   - Each node imports the images of its role, two at a time; the first control plane begins with those of its static pods, and imports
#     the rest while kubeadm works.
#   - All nodes join at once. kubeadm itself takes one etcd member after the other, and tries again until it is its turn.
set -euo pipefail
key=$1 version=$2 endpoint=$3 flannel=$4
shift 4
hosts=("$@")
here=$(mktemp -d)
leave() {
  for host in "${hosts[@]}"; do ssh -q -o ControlPath="$here/%h" -O exit "root@$host" 2>/dev/null || true; done
  rm -rf "$here"
}
trap leave EXIT
# shellcheck source=hosts.sh
source "$(dirname "$0")/hosts.sh"
# shellcheck source=cluster.sh
source "$(dirname "$0")/cluster.sh"
# shellcheck disable=SC2034
ssh_options=(-o ControlMaster=auto -o ControlPath="$here/%h" -o ControlPersist=60)

# Runs a step; what it printed is shown when it fails.
step() {
  local log="$here/$1"
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    exit 1
  }
}
answers() {
  for _ in $(seq 600); do
    if on "$1" true </dev/null 2>/dev/null; then return; fi
    sleep 0.1
  done
  echo "$1 does not answer SSH" >&2
  return 1
}
# The images of these names, two at a time.
import() {
  local host=$1
  shift
  on "$host" "cd /opt/fairlead/mirror/images && ls $* | xargs -P 2 -I {} ctr -n k8s.io images import {} >/dev/null" </dev/null
}
static=("$version/"{pause,etcd,kube-apiserver,kube-controller-manager,kube-scheduler}.tar)
pods=("$version/"{kube-proxy,coredns}.tar '*.tar')
install_on() {
  software | on "$1" bash -s "$version"
}
# Waits for a host, installs Kubernetes, and imports the images of these names.
prepare() {
  local host=$1
  shift
  answers "$host" && install_on "$host" && import "$host" "$@"
}

preparing=()
step prepare-first prepare "${hosts[0]}" "${static[@]}" &
preparing+=($!)
for host in "${hosts[@]:1:2}"; do
  step "prepare-$host" prepare "$host" "${static[@]}" "${pods[@]}" &
  preparing+=($!)
done
for host in "${hosts[@]:3}"; do
  step "prepare-$host" prepare "$host" "$version/pause.tar" "${pods[@]}" &
  preparing+=($!)
done

openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=kubernetes -keyout "$here/ca.key" -out "$here/ca.crt" \
  -addext basicConstraints=critical,CA:true -addext keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign 2>/dev/null
hash=sha256:$(openssl x509 -pubkey -noout -in "$here/ca.crt" | openssl pkey -pubin -outform der | sha256sum | cut -d ' ' -f 1)
certificate=$(openssl rand -hex 32)
wait "${preparing[0]}"
done_with 'the first host is prepared'

tar -C "$here" -c ca.key ca.crt | on "${hosts[0]}" 'mkdir -p /etc/kubernetes/pki && tar -C /etc/kubernetes/pki -x --no-same-owner'
init_config "${hosts[0]}" "certificateKey: $certificate" | on "${hosts[0]}" 'cat >/root/kubeadm.yaml'
step images-first import "${hosts[0]}" "${pods[@]}" &
importing=$!
step init on "${hosts[0]}" kubeadm init --config /root/kubeadm.yaml --upload-certs
done_with 'kubeadm init'

kubectl='kubectl --kubeconfig /etc/kubernetes/admin.conf'
join="kubeadm join $endpoint:6443 --token $token --discovery-token-ca-cert-hash $hash"
join="$join --cri-socket $cri_socket --ignore-preflight-errors=SystemVerification,ImagePull"
# Joins one node when it is prepared: the index of the host, and more words for kubeadm.
join_when_prepared() {
  local index=$1
  shift
  while kill -0 "${preparing[$index]}" 2>/dev/null; do sleep 0.1; done
  on "${hosts[$index]}" "$join $*" </dev/null && done_with "${hosts[$index]} joined" >&3
}
exec 3>&1
joining=()
for index in 1 2; do
  step "join-$index" join_when_prepared "$index" --control-plane --certificate-key "$certificate" &
  joining+=($!)
done
for index in 3 4; do
  step "join-$index" join_when_prepared "$index" &
  joining+=($!)
done
on "${hosts[0]}" "$kubectl apply -f -" <"$flannel" >/dev/null
done_with 'network applied'
for one in "${preparing[@]}" "$importing" "${joining[@]}"; do wait "$one"; done
for _ in $(seq 600); do
  ready=$(on "${hosts[0]}" "$kubectl get nodes --no-headers" </dev/null 2>/dev/null | grep -cw Ready || true)
  if [ "$ready" = 5 ]; then break; fi
  sleep 0.2
done
[ "$ready" = 5 ] || { echo "only $ready nodes are Ready" >&2; exit 1; }
done_with 'five nodes Ready'
