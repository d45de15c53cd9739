import type { Finding, KubernetesRelease, NodeName } from '@fairlead/contracts';
import type { Capacity, ClusterFacts, KubeadmExtras, NodeFacts, StaticPodFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';
import { fieldsLost, installedLost, isProxyVariable } from './installed.rules.js';
import { flagsIn } from './settings.rules.js';

/** The value that kubeadm sets in every cluster; null: it depends on the cluster or the node. */
type Defaults = Readonly<Record<string, string | null>>;

const PKI = '/etc/kubernetes/pki';

/**
 * The flags that kubeadm 1.30 to 1.36 writes into its manifests (cmd/kubeadm/app/phases/controlplane/manifests.go and
 * etcd/local.go). null: a kubeadm release may have changed the value, or files outside the manifest determine it.
 */
const KUBEADM_FLAGS: Readonly<Record<StaticPodFacts['component'], Defaults>> = {
  'kube-apiserver': {
    'advertise-address': null,
    'allow-privileged': 'true',
    'authorization-mode': 'Node,RBAC',
    'client-ca-file': `${PKI}/ca.crt`,
    'enable-admission-plugins': 'NodeRestriction',
    'enable-bootstrap-token-auth': 'true',
    'etcd-cafile': null,
    'etcd-certfile': null,
    'etcd-keyfile': null,
    'etcd-servers': null,
    'kubelet-client-certificate': null,
    'kubelet-client-key': null,
    'kubelet-preferred-address-types': 'InternalIP,ExternalIP,Hostname',
    'proxy-client-cert-file': null,
    'proxy-client-key-file': null,
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-client-ca-file': null,
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    'secure-port': null,
    'service-account-issuer': null,
    'service-account-key-file': `${PKI}/sa.pub`,
    'service-account-signing-key-file': `${PKI}/sa.key`,
    'service-cluster-ip-range': null,
    'tls-cert-file': `${PKI}/apiserver.crt`,
    'tls-private-key-file': `${PKI}/apiserver.key`,
  },
  'kube-controller-manager': {
    'allocate-node-cidrs': 'true',
    'authentication-kubeconfig': null,
    'authorization-kubeconfig': null,
    'bind-address': '127.0.0.1',
    'client-ca-file': null,
    'cluster-cidr': null,
    'cluster-name': null,
    'cluster-signing-cert-file': null,
    'cluster-signing-key-file': null,
    controllers: '*,bootstrapsigner,tokencleaner',
    kubeconfig: null,
    'leader-elect': 'true',
    'requestheader-client-ca-file': null,
    'root-ca-file': null,
    'service-account-private-key-file': null,
    'service-cluster-ip-range': null,
    'use-service-account-credentials': 'true',
  },
  'kube-scheduler': {
    'authentication-kubeconfig': null,
    'authorization-kubeconfig': null,
    'bind-address': '127.0.0.1',
    kubeconfig: null,
    'leader-elect': 'true',
  },
  etcd: {
    'advertise-client-urls': null,
    'cert-file': null,
    'client-cert-auth': 'true',
    'data-dir': null,
    'experimental-initial-corrupt-check': null,
    'experimental-watch-progress-notify-interval': null,
    'feature-gates': 'InitialCorruptCheck=true',
    'initial-advertise-peer-urls': null,
    'initial-cluster': null,
    'initial-cluster-state': null,
    'key-file': null,
    'listen-client-urls': null,
    'listen-metrics-urls': null,
    'listen-peer-urls': null,
    name: null,
    'peer-cert-file': null,
    'peer-client-cert-auth': 'true',
    'peer-key-file': null,
    'peer-trusted-ca-file': null,
    'snapshot-count': '10000',
    'trusted-ca-file': null,
    'watch-progress-notify-interval': '5s',
  },
};

/** The agent passes it to kubeadm in a patch (G5). */
const OWN_FLAGS = ['emulated-version'];

/** Volumes of kubeadm's manifests; those of CA certificates depend on the Linux distribution. */
const KUBEADM_VOLUMES: readonly RegExp[] = [
  /^(?:k8s-certs|ca-certs|kubeconfig|flexvolume-dir|etcd-data|etcd-certs(?:-\d+)?)$/,
  /^(?:etc-pki(?:-[a-z-]+)?|etc-ca-certificates|usr-share-ca-certificates|usr-local-share-ca-certificates)$/,
];

/** Flags that `kubeadm upgrade` does not write again. */
const flagsLost = ({ component, args }: StaticPodFacts, { extraArgs }: KubeadmExtras): readonly string[] => {
  const kept = new Set([...(extraArgs[component] ?? []), ...OWN_FLAGS]);
  const defaults = KUBEADM_FLAGS[component];
  return flagsIn(args)
    .filter(({ name, value }) => {
      if (kept.has(name)) return false;
      const known = Object.hasOwn(defaults, name) ? defaults[name] : undefined;
      return known === undefined || (known !== null && known !== value);
    })
    .map(({ name }) => `--${name}`);
};

const volumesLost = ({ component, volumes }: StaticPodFacts, { extraVolumes }: KubeadmExtras): readonly string[] =>
  volumes.filter(
    (name) => !KUBEADM_VOLUMES.some((pattern) => pattern.test(name)) && !(extraVolumes[component] ?? []).includes(name),
  );

const environmentLost = ({ component, environment }: StaticPodFacts, { extraEnvs }: KubeadmExtras): readonly string[] =>
  environment.filter((name) => !isProxyVariable(name) && !(extraEnvs[component] ?? []).includes(name));

/** kubeadm's requests for each component (cmd/kubeadm/app/util/staticpod); it sets no limits. */
const KUBEADM_REQUESTS: Readonly<Record<StaticPodFacts['component'], Capacity>> = {
  'kube-apiserver': { cpuMillis: 250, memoryBytes: 0 },
  'kube-controller-manager': { cpuMillis: 200, memoryBytes: 0 },
  'kube-scheduler': { cpuMillis: 100, memoryBytes: 0 },
  etcd: { cpuMillis: 100, memoryBytes: 100 * 1_024 ** 2 },
};

/** For a pod with additional containers they are a sum, and the containers are reported as lost themselves. */
const resourcesLost = ({ component, sidecars, requests, limits }: StaticPodFacts): readonly string[] => {
  if (sidecars.length > 0) return [];
  const own = KUBEADM_REQUESTS[component];
  return [
    ...(requests.cpuMillis > 0 && requests.cpuMillis !== own.cpuMillis ? ['requests.cpu'] : []),
    ...(requests.memoryBytes > 0 && requests.memoryBytes !== own.memoryBytes ? ['requests.memory'] : []),
    ...(limits.cpuMillis > 0 ? ['limits.cpu'] : []),
    ...(limits.memoryBytes > 0 ? ['limits.memory'] : []),
  ];
};

/** Settings of a component that are lost on these nodes. */
interface Lost {
  readonly component: string;
  readonly what: readonly string[];
  readonly nodes: readonly NodeName[];
}

/** A customizable part of a static pod: the settings that kubeadm would not write again, and their finding. */
interface Part {
  readonly lostOf: (pod: StaticPodFacts, kubeadm: KubeadmExtras) => readonly string[];
  readonly found: (lost: Lost) => Finding;
}

const PARTS: readonly Part[] = [
  { lostOf: flagsLost, found: ({ what: flags, ...at }) => finding('B11.flags', { ...at, flags }) },
  { lostOf: volumesLost, found: ({ what: volumes, ...at }) => finding('B11.volumes', { ...at, volumes }) },
  {
    lostOf: ({ sidecars }) => sidecars,
    found: ({ what: containers, ...at }) => finding('B11.containers', { ...at, containers }),
  },
  {
    lostOf: environmentLost,
    found: ({ what: variables, ...at }) => finding('B11.environment', { ...at, variables }),
  },
  { lostOf: resourcesLost, found: ({ what: resources, ...at }) => finding('B11.resources', { ...at, resources }) },
];

const NAMED_MAX = 20;

const listed = (names: Iterable<string>): readonly string[] => [...new Set(names)].slice(0, NAMED_MAX);

const lostOn = (nodes: readonly NodeFacts[], lostOf: (pod: StaticPodFacts) => readonly string[]): readonly Lost[] => {
  const lost = new Map<string, { readonly what: Set<string>; readonly nodes: NodeName[] }>();
  for (const { name, staticPods } of nodes)
    for (const pod of staticPods) {
      const what = lostOf(pod);
      if (what.length === 0) continue;
      const known = lost.get(pod.component) ?? { what: new Set(), nodes: [] };
      for (const one of what) known.what.add(one);
      known.nodes.push(name);
      lost.set(pod.component, known);
    }
  return [...lost].map(([component, { what, nodes: on }]) => ({ component, what: listed(what), nodes: on }));
};

/** Fields that are in neither kubelet-config nor the patches of the node, and are therefore lost. */
const kubeletLost = (
  { nodes, settings, installed }: ClusterFacts,
  upgraded: readonly NodeName[],
): readonly Finding[] => {
  const declared = new Set(
    settings
      .filter(({ component }) => component === 'kubelet')
      .flatMap(({ args }) => flagsIn(args))
      .flatMap(({ value }) => value.split(',').map((pair) => pair.split('=')[0] ?? '')),
  );
  return nodes.flatMap(({ name, kubeletSettings }) => {
    if (kubeletSettings === null || !upgraded.includes(name)) return [];
    const gates = listed(
      Object.keys(kubeletSettings.config).filter((gate) => !declared.has(gate) && !(gate in kubeletSettings.gates)),
    );
    const fields = listed(fieldsLost(kubeletSettings, installed));
    return [
      ...when(gates.length > 0, () => finding('B11.kubelet', { node: name, gates })),
      ...when(fields.length > 0, () => finding('B11.kubelet-fields', { node: name, fields })),
    ];
  });
};

/**
 * B11: manual changes that kubeadm's upgrade of these nodes would revert require an override. Settings that kubeadm
 * itself changes or keeps are not findings. `path`: versions with v, from the current one to the target.
 */
export const b11HandMade = (
  facts: ClusterFacts,
  upgraded: readonly NodeName[],
  path: readonly string[],
  releases?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const { kubeadm, installed } = facts;
  if (kubeadm === null) return [];
  const nodes = facts.nodes.filter(({ name }) => upgraded.includes(name));
  const writesInstalled = nodes.some(({ role }) => role === 'control-plane');
  return [
    ...PARTS.flatMap(({ lostOf, found }) => lostOn(nodes, (pod) => lostOf(pod, kubeadm)).map(found)),
    ...kubeletLost(facts, upgraded),
    ...(installed !== null && writesInstalled ? installedLost(installed, path, releases) : []),
  ];
};
