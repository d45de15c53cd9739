import { KUBERNETES_RELEASES, versionOf } from '@fairlead/contracts';

/** One package of the simulated mirror. */
export interface PackageDefinition {
  readonly name: string;
  /** Debian versions, oldest first. */
  readonly versions: readonly string[];
  readonly depends: readonly string[];
  /** Programs that appear on PATH. */
  readonly programs: readonly string[];
  /** Files of the package, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Units that are enabled and started at installation. */
  readonly units: readonly string[];
}

/** The packaging revision of pkgs.k8s.io and of download.docker.com respectively. */
const KUBERNETES_REVISION = '-1.1';
const CONTAINERD_REVISION = '-1';

const unitFile = (description: string, execStart: string): string =>
  [
    '[Unit]',
    `Description=${description}`,
    '',
    '[Service]',
    `ExecStart=${execStart}`,
    'Restart=always',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');

/** How many patch releases of each minor version the mirror has beyond the latest one that Fairlead knows. */
const LATER_PATCHES = 3;

/** Oldest first. */
const kubernetesVersions = KUBERNETES_RELEASES.flatMap(({ version }, index) => {
  const { major, minor, patch } = versionOf(version);
  const next = KUBERNETES_RELEASES[index + 1]?.version;
  const isLast = next === undefined || versionOf(next).minor !== minor;
  return Array.from(
    { length: isLast ? 1 + LATER_PATCHES : 1 },
    (_, later) => `${major}.${minor}.${patch + later}${KUBERNETES_REVISION}`,
  );
});

const containerdVersions = [
  ...new Set(['1.6.36', '1.7.22', ...KUBERNETES_RELEASES.map(({ containerd }) => containerd), '2.1.4']),
].map((version) => `${version}${CONTAINERD_REVISION}`);

const definition = (
  name: string,
  versions: readonly string[],
  rest: Partial<Omit<PackageDefinition, 'name' | 'versions'>> = {},
): PackageDefinition => ({ name, versions, depends: [], programs: [], files: {}, units: [], ...rest });

const containerd = (name: string): PackageDefinition =>
  definition(name, containerdVersions, {
    programs: ['containerd', 'ctr', 'runc'],
    files: {
      '/lib/systemd/system/containerd.service': unitFile('containerd container runtime', '/usr/bin/containerd'),
      '/etc/containerd/config.toml': 'disabled_plugins = ["cri"]\n',
    },
    units: ['containerd'],
  });

const tool = (name: string, version: string): PackageDefinition => definition(name, [version]);

/** Its unit is not the one that Fairlead installs: it is stopped when Fairlead's unit starts. */
const balancer = (name: string, version: string): PackageDefinition =>
  definition(name, [version], {
    programs: [name],
    files: {
      [`/usr/sbin/${name}`]: '',
      [`/lib/systemd/system/${name}.service`]: unitFile(name, `/usr/sbin/${name}`),
    },
    units: [name],
  });

const PACKAGES: readonly PackageDefinition[] = [
  containerd('containerd'),
  containerd('containerd.io'),
  definition('kubelet', kubernetesVersions, {
    depends: ['kubernetes-cni'],
    programs: ['kubelet'],
    files: {
      '/lib/systemd/system/kubelet.service': unitFile('kubelet: The Kubernetes Node Agent', '/usr/bin/kubelet'),
    },
    units: ['kubelet'],
  }),
  definition('kubeadm', kubernetesVersions, { depends: ['cri-tools'], programs: ['kubeadm'] }),
  definition('kubectl', kubernetesVersions, { programs: ['kubectl'] }),
  definition('kubernetes-cni', ['1.7.1-1.1']),
  definition('cri-tools', ['1.34.0-1.1'], { programs: ['crictl'] }),
  tool('apt-transport-https', '2.6.1'),
  tool('ca-certificates', '20230311'),
  tool('conntrack', '1:1.4.7-1'),
  tool('curl', '7.88.1-10'),
  tool('ebtables', '2.0.11-5'),
  tool('ethtool', '1:6.1-1'),
  tool('gnupg', '2.2.40-1.1'),
  tool('gpg', '2.2.40-1.1'),
  tool('iproute2', '6.1.0-3'),
  tool('ipset', '7.17-1'),
  tool('iptables', '1.8.9-2'),
  tool('nftables', '1.0.6-2'),
  tool('socat', '1.7.4.4-2'),
  balancer('haproxy', '2.6.12-1'),
  balancer('keepalived', '2.2.7-1'),
  tool('open-iscsi', '2.1.8-1'),
  tool('nfs-common', '1:2.6.2-4'),
];

const byName = new Map(PACKAGES.map((definition_) => [definition_.name, definition_]));

export const packageNamed = (name: string): PackageDefinition | undefined => byName.get(name);

/** The newest version that matches the request: exact, ending with `*`, or without the packaging revision. */
export const versionMatching = (definition_: PackageDefinition, request: string | undefined): string | undefined => {
  if (request === undefined) return definition_.versions.at(-1);
  const matches = (version: string): boolean =>
    request.endsWith('*') ? version.startsWith(request.slice(0, -1)) : version === request;
  return definition_.versions.findLast(matches);
};

/** `1.34.4-1.1` is upstream version 1.34.4. */
export const upstreamVersion = (packageVersion: string): string =>
  packageVersion.replace(/^\d+:/, '').replace(/-.*/, '');
