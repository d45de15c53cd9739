import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { etcdctlPod } from '../etcd/etcdctl.pod.js';
import { hostPath } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

/** Its image is that of the host's member, which an upgrade may have replaced since the cluster was made. */
export type EtcdctlInput = Readonly<Record<string, never>>;

export interface EtcdctlResult {
  /** False: the pod was there already. */
  readonly changed: boolean;
}

const IMAGE = 'ETCD_IMAGE';

/** Makes the kubelet of a control plane run etcdctl beside the member of the external etcd. */
export const etcdctlScript = (): HostScript =>
  script(
    { step: 'etcdctl', limitSeconds: 60, lockSeconds: 60 },
    `
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
