import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { etcdctlPod } from '../etcd/etcdctl.pod.js';
import { LOCAL_ETCD } from '../etcd/etcd.paths.js';
import { hostPath } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

/** Its image is that of the host's member, which an upgrade may have replaced since the cluster was created. */
export type EtcdctlInput = Readonly<Record<string, never>>;

export interface EtcdctlResult {
  /** False: the pod existed already. */
  readonly changed: boolean;
}

const IMAGE = 'ETCD_IMAGE';

/**
 * In a cluster from before API servers used their own host's member, kubeadm configured this one with all members of
 * that time. These leave one by one, so it, and whatever kubeadm generates later, is changed to the local URL.
 */
const USE_OWN_MEMBER = `
api="$root/etc/kubernetes/manifests/kube-apiserver.yaml"
if grep -q -- '--etcd-servers=' "$api" 2>/dev/null && ! grep -q -- '--etcd-servers=${LOCAL_ETCD}$' "$api"; then
  kube() { kubectl --kubeconfig "$root/etc/kubernetes/admin.conf" --namespace kube-system --request-timeout=20s "$@"; }
  at="$root/run/fairlead/cluster-configuration"
  kube get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' >"$at.old" 2>>"$log" ||
    fail "the cluster did not say how kubeadm is configured: $(tail -n 5 "$log")"
  awk '/^ *endpoints:$/ { print; sub(/endpoints:$/, ""); print $0 "- ${LOCAL_ETCD}"; skip = 1; next }
    skip && /^ *- https:/ { next } { skip = 0; print }' "$at.old" >"$at"
  grep -q '${LOCAL_ETCD}' "$at" || fail 'the configuration of kubeadm names no endpoints of etcd'
  kube create configmap kubeadm-config --from-file="ClusterConfiguration=$at" --dry-run=client -o yaml >"$at.yaml" 2>>"$log" ||
    fail "kubectl made no configuration of kubeadm: $(tail -n 5 "$log")"
  run kube replace -f "$at.yaml"
  rm -f "$at" "$at.old" "$at.yaml"
  # Not beside it: the kubelet takes every file of its folder for a pod.
  sed 's#--etcd-servers=.*#--etcd-servers=${LOCAL_ETCD}#' "$api" >"$root/etc/kubernetes/fairlead-own-member.yaml"
  chmod 600 "$root/etc/kubernetes/fairlead-own-member.yaml"
  mv "$root/etc/kubernetes/fairlead-own-member.yaml" "$api"
fi`;

/** Makes a control plane use its own member of the external etcd, and its kubelet run etcdctl there. */
export const etcdctlScript = (): HostScript =>
  script(
    { step: 'etcdctl', limitSeconds: 60, lockSeconds: 60 },
    `
${USE_OWN_MEMBER.trim()}
manifest=${hostPath(EXTERNAL_ETCD.pod)}
if [ -e "$manifest" ]; then
  result '{"changed":false}'
  exit 0
fi
image=$(cat ${hostPath(`${EXTERNAL_ETCD.programs}/image`)}) || fail 'this host has no member of an external etcd'
# Not in the folder that the kubelet watches: it takes every file there for a pod.
${writeFile('/run/fairlead/etcdctl.yaml', '600', etcdctlPod(IMAGE))}
mkdir -p "$(dirname "$manifest")"
sed "s|${IMAGE}|$image|" "$root/run/fairlead/etcdctl.yaml" >"$root/etc/kubernetes/fairlead-etcdctl.yaml"
chmod 600 "$root/etc/kubernetes/fairlead-etcdctl.yaml"
mv "$root/etc/kubernetes/fairlead-etcdctl.yaml" "$manifest"
rm -f "$root/run/fairlead/etcdctl.yaml"
result '{"changed":true}'
`,
  );
