import { AGENT_PATHS } from '@fairlead/contracts';
import { joinControlPlaneConfig, joinWorkerConfig, kubeletPatch, PATCHES_FOLDER } from '../kubeadm/kubeadm.config.js';
import type { ClusterSettings, JoinCredentials, NodeSettings } from '../kubeadm/kubeadm.types.js';
import { hostPath, quote } from '../shell/quote.js';
import { onlyDuringStep, script, writeFile, type HostScript } from '../shell/script.js';
import { authenticationFile, cleanKubeadm } from './kubeadm.parts.js';

export interface KubeadmJoinWorkerInput {
  readonly uid: string;
  readonly cluster: ClusterSettings;
  readonly node: NodeSettings;
  readonly credentials: JoinCredentials;
}

export interface KubeadmJoinControlPlaneInput extends KubeadmJoinWorkerInput {
  readonly credentials: JoinCredentials & { readonly certificateKey: string };
  /** An earlier join of this host was interrupted, and etcd no longer has its member: clean up and start again. */
  readonly afterInterruption: boolean;
}

export interface KubeadmJoinResult {
  /** False: it had joined already, by an earlier run of this step. */
  readonly changed: boolean;
}

export interface KubeadmJoinControlPlaneResult extends KubeadmJoinResult {
  /**
   * An earlier join was interrupted, and this run did nothing: it may have left a member in etcd, which must be removed
   * before its host is cleaned up. Of two members, one without its data leaves no majority.
   */
  readonly interrupted: boolean;
}

/** Contains the token, and for a control plane the key to all certificates. */
const JOIN_CONFIG = '/run/fairlead/kubeadm-join.yaml';
/** Its former location. */
const OLD_JOIN_CONFIG = '/etc/fairlead/kubeadm-join.yaml';

/**
 * The agent imports images while other hosts prepare; a kubelet that asks for one too early retries only much later.
 */
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

interface JoinOptions<Result extends KubeadmJoinResult> {
  readonly input: KubeadmJoinWorkerInput;
  readonly config: string;
  readonly already: Result;
  readonly done: Result;
  /** What to do if an earlier join was interrupted. */
  readonly interrupted: string;
  /** Other files that kubeadm needs on the host. */
  readonly files?: string;
}

const resultOf = (result: KubeadmJoinResult): string => `result ${quote(JSON.stringify(result))}`;

const joinBody = <Result extends KubeadmJoinResult>({
  input,
  config,
  already,
  done,
  interrupted,
  files = '',
}: JoinOptions<Result>): string => `
${onlyDuringStep(JOIN_CONFIG, OLD_JOIN_CONFIG)}
kubelet_conf="$root/etc/kubernetes/kubelet.conf"
started="$root/var/lib/fairlead/"${quote(`kubeadm-join.${input.uid}.started`)}
finished="$root/var/lib/fairlead/"${quote(`kubeadm-join.${input.uid}.finished`)}

if [ -e "$finished" ] && [ -e "$kubelet_conf" ]; then
  ${resultOf(already)}
  exit 0
fi
if [ -e "$kubelet_conf" ] && [ ! -e "$started" ]; then
  fail 'this host is a node already (/etc/kubernetes/kubelet.conf exists): refusing to join it to another cluster'
fi
if [ -e "$started" ]; then
${interrupted}
fi
: >"$started"

${patches(input)}${files === '' ? '' : `\n${files}`}
${writeFile(JOIN_CONFIG, '600', config)}
${AWAIT_IMAGES}
run kubeadm join --config "$root${JOIN_CONFIG}"
: >"$finished"
${resultOf(done)}
`;

/**
 * Joins a further control plane; a finished join is left unchanged. An interrupted one is only reported, unless the
 * caller states that etcd no longer has a member of it: then it is cleaned up and started again.
 */
export const kubeadmJoinControlPlaneScript = (input: KubeadmJoinControlPlaneInput): HostScript =>
  script(
    { step: 'kubeadm-join-control-plane', limitSeconds: 900, lockSeconds: 600 },
    joinBody<KubeadmJoinControlPlaneResult>({
      input,
      config: joinControlPlaneConfig(input.cluster, input.node, input.credentials),
      already: { changed: false, interrupted: false },
      done: { changed: true, interrupted: false },
      interrupted: input.afterInterruption
        ? cleanKubeadm(input.cluster)
        : `    ${resultOf({ changed: false, interrupted: true } as KubeadmJoinControlPlaneResult)}\n    exit 0`,
      files: authenticationFile(input.cluster),
    }),
  );

/** Joins a worker; an interrupted join is cleaned up and started again, a finished one is left unchanged. */
export const kubeadmJoinWorkerScript = (input: KubeadmJoinWorkerInput): HostScript =>
  script(
    { step: 'kubeadm-join-worker', limitSeconds: 600, lockSeconds: 600 },
    joinBody({
      input,
      config: joinWorkerConfig(input.cluster, input.node, input.credentials),
      already: { changed: false },
      done: { changed: true },
      interrupted: cleanKubeadm(input.cluster),
    }),
  );
