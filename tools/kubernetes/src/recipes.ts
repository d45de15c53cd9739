import type { KubernetesRelease, MirrorComponent } from '@fairlead/contracts';

/** A set of programs from Go modules that are built together. All fields are part of the key of the result. */
export interface GoRecipe {
  /** Unique; also a folder name. */
  readonly name: string;
  /** For display: "etcd 3.6.8". */
  readonly title: string;
  /** Module paths with versions, required together. The go.mod of the first one determines the Go version. */
  readonly modules: readonly string[];
  /** From the import path to the name of the program in the result. */
  readonly programs: Readonly<Record<string, string>>;
  readonly linkerVariables: Readonly<Record<string, string>>;
  /** The module replaces modules with folders of its own repository, which are published as v0.<minor>.<patch>. */
  readonly staging?: true;
  readonly replace?: readonly string[];
  /** Files of the first module to delete (null) or to overwrite (text), relative to its root. */
  readonly changes?: Readonly<Record<string, string | null>>;
  /** From the import path of a package to the name of its test binary. */
  readonly tests?: Readonly<Record<string, string>>;
}

const KUBERNETES = 'k8s.io/kubernetes';
const VERSION_PACKAGE = 'k8s.io/component-base/version';

const stamped = (version: string): Readonly<Record<string, string>> => ({
  [`${VERSION_PACKAGE}.gitVersion`]: version,
  [`${VERSION_PACKAGE}.gitMajor`]: '1',
  [`${VERSION_PACKAGE}.gitMinor`]: version.split('.')[1] ?? '',
  [`${VERSION_PACKAGE}.gitTreeState`]: 'clean',
});

const KUBERNETES_PROGRAMS = [
  'kubeadm',
  'kubelet',
  'kubectl',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
] as const;

export const kubernetesRecipe = (version: string): GoRecipe => ({
  name: `kubernetes-${version}`,
  title: `Kubernetes ${version}`,
  modules: [`${KUBERNETES}@${version}`],
  programs: Object.fromEntries(KUBERNETES_PROGRAMS.map((name) => [`${KUBERNETES}/cmd/${name}`, name])),
  linkerVariables: stamped(version),
  staging: true,
});

/** The Kubernetes tests, and the program that their pods run. */
export const conformanceRecipe = (version: string): GoRecipe => ({
  name: `conformance-${version}`,
  title: `the e2e tests of Kubernetes ${version}`,
  modules: [`${KUBERNETES}@${version}`],
  programs: {
    'github.com/onsi/ginkgo/v2/ginkgo': 'ginkgo',
    [`${KUBERNETES}/test/images/agnhost`]: 'agnhost',
    [`${KUBERNETES}/test/images/nonewprivs`]: 'nnp',
  },
  tests: { [`${KUBERNETES}/test/e2e`]: 'e2e.test' },
  linkerVariables: stamped(version),
  staging: true,
});

const ETCD = 'go.etcd.io/etcd';

/**
 * Used in place of the patch that kubeadm names: the newest patch of the minor version for which all modules are
 * published. The etcdctl and etcdutl of 3.5.24, for example, were never published as modules. Patches of a minor
 * version share their data format.
 */
const ETCD_OF_MINOR: Readonly<Record<string, string>> = { '3.5': '3.5.35', '3.6': '3.6.8' };

/** The component that is built for the etcd image that this release names, such as 3.6.5-0. */
export const etcdOf = (release: KubernetesRelease): MirrorComponent => {
  const asked = release.etcd.replace(/-\d+$/, '');
  const version = ETCD_OF_MINOR[asked.split('.').slice(0, 2).join('.')] ?? asked;
  return { name: 'etcd', version, ...(version === asked ? {} : { standsInFor: asked }) };
};

export const etcdRecipe = (version: string): GoRecipe => ({
  name: `etcd-${version}`,
  title: `etcd ${version}`,
  modules: ['server', 'etcdctl', 'etcdutl'].map((part) => `${ETCD}/${part}/v3@v${version}`),
  programs: { [`${ETCD}/server/v3`]: 'etcd', [`${ETCD}/etcdctl/v3`]: 'etcdctl', [`${ETCD}/etcdutl/v3`]: 'etcdutl' },
  linkerVariables: {},
});

export const corednsRecipe = (version: string): GoRecipe => ({
  name: `coredns-${version}`,
  title: `CoreDNS ${version}`,
  modules: [`github.com/coredns/coredns@${version}`],
  programs: { 'github.com/coredns/coredns': 'coredns' },
  linkerVariables: { 'github.com/coredns/coredns/coremain.GitCommit': version },
});

const CNI = 'github.com/containernetworking/plugins';
const CNI_PLUGINS = {
  main: ['bridge', 'dummy', 'host-device', 'ipvlan', 'loopback', 'macvlan', 'ptp', 'tap', 'vlan'],
  ipam: ['dhcp', 'host-local', 'static'],
  meta: ['bandwidth', 'firewall', 'portmap', 'sbr', 'tuning', 'vrf'],
} as const;

/** All plugins of the official archive. */
export const cniPluginsRecipe = (version: string): GoRecipe => ({
  name: `cni-plugins-${version}`,
  title: `CNI plugins ${version}`,
  modules: [`${CNI}@${version}`],
  programs: Object.fromEntries(
    Object.entries(CNI_PLUGINS).flatMap(([kind, names]) =>
      names.map((name) => [`${CNI}/plugins/${kind}/${name}`, name]),
    ),
  ),
  linkerVariables: { [`${CNI}/pkg/utils/buildversion.BuildVersion`]: version },
});

const FLANNEL = 'github.com/flannel-io/flannel';
const TENCENT = 'github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common';
export const FLANNEL_VERSION = 'v0.28.4';

/**
 * Without the udp backend, which is written in C and is not needed with vxlan or a single segment: no C compiler is
 * required. The version of the cloud module that flannel requires was withdrawn, so a later one is used.
 */
export const flannelRecipe = (version: string): GoRecipe => ({
  name: `flannel-${version}`,
  title: `flannel ${version}`,
  modules: [`${FLANNEL}@${version}`],
  programs: { [FLANNEL]: 'flanneld' },
  linkerVariables: { [`${FLANNEL}/pkg/version.Version`]: version },
  replace: [`${TENCENT}=${TENCENT}@v1.3.103`],
  changes: {
    'pkg/backend/udp/cproxy_amd64.go': null,
    'pkg/backend/udp/udp_amd64.go': null,
    'pkg/backend/udp/udp_network_amd64.go': null,
    'pkg/backend/udp/proxy_amd64.c': null,
    'pkg/backend/udp/proxy_amd64.h': null,
    'pkg/backend/udp/none.go': 'package udp\n',
  },
});

/** k8s.io/kubernetes requires its staging modules as v0.0.0 and replaces them with folders of its repository. */
const STAGING = /^\s*(\S+) => \.\/staging\//gm;
const REQUIRED = /^\s+(\S+) (v\S+?)(?:\s*\/\/.*)?$/gm;

/** The go.mod of the temporary module that builds a recipe. `goMod` is that of its first module. */
export const goModOf = (recipe: GoRecipe, goMod: string): string => {
  const go = goVersionOf(goMod);
  const lines = ['module fairlead.dev/build', '', `go ${go}`, ''];
  if (recipe.staging === true) lines.push(...stagingLines(recipe, goMod));
  return `${lines.join('\n')}\n`;
};

/** The oldest Go version that can build it, e.g. 1.24.0. */
export const goVersionOf = (goMod: string): string => /^go (\d+\.\d+(?:\.\d+)?)/m.exec(goMod)?.[1] ?? '1.22';

const stagingLines = ({ modules }: GoRecipe, goMod: string): readonly string[] => {
  const [path, version] = splitModule(modules[0] ?? '');
  const published = version.replace(/^v1\./, 'v0.');
  const staged = [...goMod.matchAll(STAGING)].map(([, name = '']) => name);
  const required = [...goMod.matchAll(REQUIRED)].filter(([, name = '']) => !staged.includes(name));
  return [
    `require ${path} ${version}`,
    'require (',
    ...required.map(([, name, at]) => `\t${name} ${at}`),
    ')',
    'replace (',
    ...staged.map((name) => `\t${name} => ${name} ${published}`),
    ')',
  ];
};

export const splitModule = (module: string): readonly [path: string, version: string] => {
  const at = module.lastIndexOf('@');
  return [module.slice(0, at), module.slice(at + 1)];
};
