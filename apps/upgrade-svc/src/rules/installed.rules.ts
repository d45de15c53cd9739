import {
  compareVersions,
  minorsAhead,
  parseVersion,
  releaseOf,
  type Finding,
  type KubeletSettings,
  type KubernetesRelease,
} from '@fairlead/contracts';
import type { TemplateView } from '@fairlead/kubernetes';
import type { InstalledFacts, KubeadmAddon, KubeadmInstalls } from './cluster.facts.js';
import { finding, when } from './finding.js';
import { REMOVED_KUBEADM_GATES } from './removed.settings.js';

type Part = Exclude<keyof TemplateView, 'image'>;

/**
 * The fields that kubeadm 1.30 to 1.36 writes into each part of a template (cmd/kubeadm/app/phases/addons); it never
 * sets the number of replicas.
 */
interface Written extends Readonly<Record<Part, readonly string[]>> {
  readonly kind: 'DaemonSet' | 'Deployment';
  /** The section in kubeadm-config. */
  readonly field: 'dns' | 'proxy';
}

const WRITTEN: Readonly<Record<KubeadmAddon, Written>> = {
  coredns: {
    kind: 'Deployment',
    field: 'dns',
    args: ['-conf', '/etc/coredns/Corefile'],
    environment: [],
    resources: ['requests.cpu=100m', 'requests.memory=70Mi', 'limits.memory=170Mi'],
    containers: [],
    volumes: ['config-volume', 'config-volume/Corefile'],
    nodeSelector: ['nodeSelector kubernetes.io/os=linux'],
    tolerations: ['toleration CriticalAddonsOnly', 'toleration node-role.kubernetes.io/control-plane:NoSchedule'],
    placement: ['podAntiAffinity'],
  },
  'kube-proxy': {
    kind: 'DaemonSet',
    field: 'proxy',
    args: ['/usr/local/bin/kube-proxy', '--config=/var/lib/kube-proxy/config.conf', '--hostname-override=$(NODE_NAME)'],
    environment: ['NODE_NAME'],
    resources: [],
    containers: [],
    volumes: ['kube-proxy', 'xtables-lock', 'lib-modules'],
    nodeSelector: ['nodeSelector kubernetes.io/os=linux'],
    tolerations: ['toleration every taint'],
    placement: [],
  },
};

interface PartRule {
  readonly part: Part;
  /** Precedes each change whose text alone is ambiguous. */
  readonly noun: string;
  /** Removed fields count as well, because kubeadm restores them. */
  readonly takenOut: boolean;
}

const PARTS: readonly PartRule[] = [
  { part: 'args', noun: '', takenOut: true },
  { part: 'environment', noun: 'variable ', takenOut: false },
  { part: 'resources', noun: '', takenOut: true },
  { part: 'containers', noun: 'container ', takenOut: false },
  { part: 'volumes', noun: 'volume ', takenOut: false },
  { part: 'nodeSelector', noun: '', takenOut: true },
  { part: 'tolerations', noun: '', takenOut: true },
  { part: 'placement', noun: '', takenOut: false },
];

/** kubeadm copies the proxy variables of its own environment. */
export const isProxyVariable = (name: string): boolean => /^(?:https?|ftp|all|no)_proxy$/i.test(name);

/** Returns `limits.memory` for `limits.memory=1Gi`. */
const nameIn = (text: string): string => text.split('=', 1)[0] ?? '';

const changesOf = (template: TemplateView, written: Written): readonly string[] =>
  PARTS.flatMap(({ part, noun, takenOut }) => {
    const seen = template[part].filter((text) => part !== 'environment' || !isProxyVariable(text));
    const added = seen.filter((text) => !written[part].includes(text));
    const others = new Set(added.map(nameIn));
    const missing = written[part].filter((text) => !seen.includes(text) && !others.has(nameIn(text)));
    return [...added.map((text) => `${noun}${text}`), ...(takenOut ? missing.map((text) => `no ${noun}${text}`) : [])];
  });

/** The first and the last version of a plan. */
interface Releases {
  readonly present: KubernetesRelease | undefined;
  readonly target: KubernetesRelease | undefined;
}

const tagOf = (addon: KubeadmAddon, release: KubernetesRelease | undefined): string | undefined =>
  addon === 'coredns' ? release?.coredns : release?.version;

const repositoryOf = (addon: KubeadmAddon, { dns, imageRepository }: KubeadmInstalls): string =>
  `${addon === 'coredns' ? dns.imageRepository : imageRepository}/${addon}`;

/** From a repository other than kubeadm's; or newer than the target's image, and not the one of the current version. */
const isChangedImage = (image: string, addon: KubeadmAddon, config: KubeadmInstalls, releases: Releases): boolean => {
  const [, repository = '', tag = ''] = /^([^@]*?)(?::([^:/@]*))?(?:@.*)?$/.exec(image) ?? [];
  if (repository !== repositoryOf(addon, config)) return true;
  const target = tagOf(addon, releases.target);
  if (target === undefined || (addon === 'coredns' && config.dns.imageTag !== null)) return false;
  return parseVersion(tag) !== undefined && compareVersions(tag, target) > 0 && tag !== tagOf(addon, releases.present);
};

const NAMED_MAX = 20;

const changedFinding = (object: string, changes: readonly string[]): readonly Finding[] =>
  when(changes.length > 0, () => finding('B11.installed', { object, changes: changes.slice(0, NAMED_MAX) }));

/** Since 1.32, kubeadm installs missing addons, unless kubeadm-config disables them. */
const INSTALLS_ABSENT_SINCE = '1.32';

const addonLost = (
  addon: KubeadmAddon,
  { config, templates }: InstalledFacts,
  target: string,
  releases: Releases,
): readonly Finding[] => {
  if (config.disabled.includes(addon)) return [];
  const template = templates[addon];
  const written = WRITTEN[addon];
  if (template === null)
    return when(minorsAhead(INSTALLS_ABSENT_SINCE, target) >= 0, () =>
      finding('B11.brought-back', { addon, field: written.field }),
    );
  const image = isChangedImage(template.image, addon, config, releases) ? [`image ${template.image}`] : [];
  return changedFinding(`${written.kind} ${addon}`, [...image, ...changesOf(template, written)]);
};

const KUBE_PROXY_KEYS: readonly string[] = ['config.conf', 'kubeconfig.conf'];

/** kubeadm keeps changes in config.conf, but not in the rest. */
const kubeProxyConfigLost = ({ config, kubeProxyConfig }: InstalledFacts): readonly Finding[] => {
  if (kubeProxyConfig === null || config.disabled.includes('kube-proxy')) return [];
  const { keys, server } = kubeProxyConfig;
  const endpoint = config.controlPlaneEndpoint;
  const isOther =
    server !== null && endpoint !== null && ![`https://${endpoint}`, `https://${endpoint}:6443`].includes(server);
  return changedFinding('ConfigMap kube-proxy', [
    ...keys.filter((key) => !KUBE_PROXY_KEYS.includes(key)).map((key) => `key ${key}`),
    ...(isOther ? [`server ${server} of kubeconfig.conf`] : []),
  ]);
};

/** kubeadm's own gates: a removed gate that was set to another value than its current behavior. */
const gatesLost = ({ featureGates }: KubeadmInstalls, target: string): readonly Finding[] => {
  const gates = Object.entries(featureGates).flatMap(([gate, value]) => {
    const removed = Object.hasOwn(REMOVED_KUBEADM_GATES, gate) ? REMOVED_KUBEADM_GATES[gate] : undefined;
    const isIgnored = removed !== undefined && minorsAhead(removed.since, target) >= 0 && removed.value !== value;
    return isIgnored ? [`${gate}=${value}`] : [];
  });
  return when(gates.length > 0, () => finding('B11.kubeadm-gates', { version: target, gates }));
};

/**
 * B11 for the objects that kubeadm installs for the whole cluster. `path`: versions with v, from the current one to the
 * target.
 */
export const installedLost = (
  installed: InstalledFacts,
  path: readonly string[],
  known?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const target = path.at(-1);
  if (target === undefined) return [];
  const releases = { present: releaseOf(path[0] ?? target, known), target: releaseOf(target, known) };
  return [
    ...addonLost('coredns', installed, target, releases),
    ...addonLost('kube-proxy', installed, target, releases),
    ...kubeProxyConfigLost(installed),
    ...gatesLost(installed.config, target),
  ];
};

/** kubeadm detects these on each node. */
const OF_THE_NODE: readonly string[] = ['resolvConf', 'containerRuntimeEndpoint', 'imageServiceEndpoint'];

/** B11 for the configuration of one kubelet: fields that kubelet-config lacks, or that have another value there. */
export const fieldsLost = (settings: KubeletSettings, installed: InstalledFacts | null): readonly string[] => {
  const given = installed?.kubeletFields;
  if (!given) return [];
  return Object.entries(settings.fields ?? {})
    .filter(([field, digest]) => !OF_THE_NODE.includes(field) && given[field] !== digest)
    .map(([field]) => field);
};
