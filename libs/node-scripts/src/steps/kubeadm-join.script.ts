import { AGENT_PATHS } from '@fairlead/contracts';
import { joinControlPlaneConfig, joinWorkerConfig, kubeletPatch, PATCHES_FOLDER } from '../kubeadm/kubeadm.config.js';
import type { ClusterSettings, JoinCredentials, NodeSettings } from '../kubeadm/kubeadm.types.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';
import { CLEAN_KUBEADM } from './kubeadm.parts.js';

export interface KubeadmJoinWorkerInput {
  readonly uid: string;
  readonly cluster: ClusterSettings;
  readonly node: NodeSettings;
  readonly credentials: JoinCredentials;
}

export interface KubeadmJoinControlPlaneInput extends KubeadmJoinWorkerInput {
  readonly credentials: JoinCredentials & { readonly certificateKey: string };
}

export interface KubeadmJoinResult {
  /** False: it had joined already, by an earlier run of this step. */
  readonly changed: boolean;
}

const JOIN_CONFIG = '/etc/fairlead/kubeadm-join.yaml';

/** The agent brings images while others prepare; a kubelet that asks for one too early looks again only much later. */
const AWAIT_IMAGES = `
waited=0
while [ -e ${hostPath(AGENT_PATHS.imagesPending)} ] && [ "$waited" -lt 900 ]; do
  sleep 0.2
  waited=$((waited + 1))
done`;

/** kubeadm reads the target and the kind of a patch from the file's name. */
const KUBELET_PATCH = `${PATCHES_FOLDER}/kubeletconfiguration0+merge.yaml`;

const patches = (input: KubeadmJoinWorkerInput): string => {
  const patch = kubeletPatch(input.cluster, input.node);
  return patch === undefined ? `rm -rf "$root${PATCHES_FOLDER}"` : writeFile(KUBELET_PATCH, '644', patch);
};

const joinBody = (input: KubeadmJoinWorkerInput, config: string): string => `
kubelet_conf="$root/etc/kubernetes/kubelet.conf"
started="$root/var/lib/fairlead/"${quote(`kubeadm-join.${input.uid}.started`)}
finished="$root/var/lib/fairlead/"${quote(`kubeadm-join.${input.uid}.finished`)}

if [ -e "$finished" ] && [ -e "$kubelet_conf" ]; then
  result '{"changed":false}'
  exit 0
fi
if [ -e "$kubelet_conf" ] && [ ! -e "$started" ]; then
  fail 'this host is a node already (/etc/kubernetes/kubelet.conf exists): refusing to join it to another cluster'
fi
if [ -e "$started" ]; then
${CLEAN_KUBEADM}
fi
: >"$started"

${patches(input)}
${writeFile(JOIN_CONFIG, '600', config)}
${AWAIT_IMAGES}
run kubeadm join --config "$root${JOIN_CONFIG}"
rm -f "$root${JOIN_CONFIG}"
: >"$finished"
result '{"changed":true}'
`;

/** Joins a further control plane; an interrupted join is cleaned and begun anew, a finished one is left alone. */
export const kubeadmJoinControlPlaneScript = (input: KubeadmJoinControlPlaneInput): HostScript =>
  script(
    { step: 'kubeadm-join-control-plane', limitSeconds: 900, lockSeconds: 600 },
    joinBody(input, joinControlPlaneConfig(input.cluster, input.node, input.credentials)),
  );

/** Joins a worker; an interrupted join is cleaned and begun anew, a finished one is left alone. */
export const kubeadmJoinWorkerScript = (input: KubeadmJoinWorkerInput): HostScript =>
  script(
    { step: 'kubeadm-join-worker', limitSeconds: 600, lockSeconds: 600 },
    joinBody(input, joinWorkerConfig(input.cluster, input.node, input.credentials)),
  );
