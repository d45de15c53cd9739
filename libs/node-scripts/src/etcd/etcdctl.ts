import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { quote } from '../shell/quote.js';

/** A shell function that runs etcdctl against this host's member, with the health check certificate. */
export const ETCDCTL = `
etcd() {
  pki="$root${EXTERNAL_ETCD.pki}"
  ETCDCTL_API=3 "$root${EXTERNAL_ETCD.programs}/etcdctl" --endpoints=https://127.0.0.1:2379 --command-timeout=10s \\
    --cacert="$pki/ca.crt" --cert="$pki/healthcheck-client.crt" --key="$pki/healthcheck-client.key" "$@"
}`;

/** The same for an etcd that kubeadm runs as a static pod. `self`: the control plane on which it runs. */
export const stackedEtcdctl = (self: string): string => `
pki="$root/etc/kubernetes/pki/etcd"
etcd() {
  if command -v etcdctl >/dev/null 2>&1; then
    ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:2379 --command-timeout=10s \\
      --cacert="$pki/ca.crt" --cert="$pki/healthcheck-client.crt" --key="$pki/healthcheck-client.key" "$@"
  else
    # The etcd image has its own etcdctl; inside the pod the host's prefix does not apply.
    kubectl --kubeconfig "$root/etc/kubernetes/admin.conf" --namespace kube-system exec ${quote(`etcd-${self}`)} -- \\
      etcdctl --endpoints=https://127.0.0.1:2379 --command-timeout=10s \\
      --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt \\
      --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "$@"
  fi
}`;
