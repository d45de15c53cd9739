import { NODE_BINARIES, ExternalFailure, type SoftwareVersions } from '@fairlead/contracts';
import type { CommandResult, HostPort } from '../node/host.ports.js';
import { failed, mustRun, replaceFile } from './item.js';
import { noRepository, type LocalRepository } from './local.repository.js';
import type { Distribution, InstalledPackage } from './package.driver.js';

const INSTALL_TIMEOUT_MS = 15 * 60_000;
const UPDATE_TIMEOUT_MS = 5 * 60_000;
const LOCK_TIMEOUT_S = 120;
/** Maximum number of named archives. */
const UNFETCHED_MAX = 5;
/** The folder in which apt caches downloaded packages. */
const ARCHIVES = '/var/cache/apt/archives';
const UNPACKED = '/var/lib/fairlead/packages';
const LOCAL_LIST = '/etc/apt/sources.list.d/fairlead.list';

/** Dependencies of the kubelet's Debian package, and the packages of `modprobe` and `sysctl`. */
const TOOLS = ['conntrack', 'ebtables', 'ethtool', 'iproute2', 'iptables', 'kmod', 'mount', 'procps', 'socat'];

/** `1.34.4-1.1` and `1.7.24~ds1-6+b2` are upstream 1.34.4 and 1.7.24 (deb-version(7): epoch:upstream-revision). */
export const upstreamOf = (version: string): string =>
  version
    .replace(/^\d+:/, '')
    .replace(/-[^-]*$/, '')
    .replace(/[~+].*/, '');

const FORMAT = '${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n';

/** Parses dpkg-query's output; it exits with 1 if it does not find one of the names. */
export const parseInstalled = (output: string): ReadonlyMap<string, InstalledPackage> => {
  const packages = new Map<string, InstalledPackage>();
  for (const line of output.split('\n')) {
    const [name, version, want, status] = line.split('\t');
    if (name === undefined || version === undefined || status !== 'installed') continue;
    packages.set(name, { version: upstreamOf(version), held: want === 'hold' });
  }
  return packages;
};

/** Parses lines of `apt-cache madison` such as `containerd | 1.7.24~ds1-6+b4 | http://... Packages`. */
const wholeVersionsIn = (output: string): readonly string[] =>
  output.split('\n').flatMap((line) => {
    const version = line.split('|')[1]?.trim();
    return version === undefined || version === '' ? [] : [version];
  });

/** Upstream versions in `apt-cache madison`. */
export const parseMadison = (output: string): readonly string[] => wholeVersionsIn(output).map(upstreamOf);

/** apt-get's error messages if its lists are missing or older than the desired version. */
export const NEEDS_UPDATE = /Unable to locate package|has no installation candidate|Version .* was not found/;

/** Returns what could not be fetched: apt-get uses older lists then, and exits with 0. */
const update = async (host: HostPort): Promise<readonly string[]> => {
  const result = await host.run('apt-get', ['update'], { timeoutMs: UPDATE_TIMEOUT_MS });
  if (result.code !== 0) throw failed(['apt-get', ['update']], result, UPDATE_TIMEOUT_MS);
  const lines = result.stderr.split('\n').filter((line) => line.startsWith('W: Failed to fetch '));
  return lines.slice(0, UNFETCHED_MAX).map((line) => line.slice('W: '.length));
};

const COMMON_OPTIONS = [
  '-y',
  '--no-install-recommends',
  '--allow-downgrades',
  '--allow-change-held-packages',
  '-o',
  `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`,
  '-o',
  'Dpkg::Options::=--force-confold',
];

/** A failure is preceded by what it follows from: archives that could not be reached. */
const install = async (host: HostPort, args: readonly string[], missing: readonly string[]): Promise<void> => {
  try {
    await mustRun(host, 'apt-get', ['install', ...COMMON_OPTIONS, ...args], INSTALL_TIMEOUT_MS);
  } catch (error) {
    if (missing.length === 0 || !(error instanceof ExternalFailure)) throw error;
    const { operation, target } = error.toCause();
    throw new ExternalFailure({ operation, target, message: [...missing, error.message].join('; ') });
  }
};

/**
 * Distributions append a revision to the upstream version: `-1.1`, `~ds1-6`. Kubernetes' own packages always have the
 * former form. apt selects the newest version that matches, so `1.30.1*` would be 1.30.14.
 */
const specOf = ([name, version]: readonly [string, string]): string =>
  (NODE_BINARIES as readonly string[]).includes(name) ? `${name}=${version}-*` : `${name}=${version}*`;

/** Debian and Ubuntu: apt with holds. */
export const aptPackages = (host: HostPort, local: LocalRepository = noRepository): Distribution => {
  const offered = new Map<string, Promise<readonly string[]>>();

  const aptGet = (args: readonly string[]): Promise<CommandResult> =>
    host.run('apt-get', ['install', ...COMMON_OPTIONS, ...args], { timeoutMs: INSTALL_TIMEOUT_MS });

  /** Used only if something must be installed, because reading the list takes a second. Other lists are not changed. */
  const useLocal = async (): Promise<void> => {
    const folder = await local();
    const text = folder === undefined ? undefined : `# Written by Fairlead.\ndeb [trusted=yes] file:${folder} ./\n`;
    if (text === undefined || (await host.readFile(LOCAL_LIST)) === text) return;
    await replaceFile(host, LOCAL_LIST, text, 0o644);
    const only = ['-o', `Dir::Etc::sourcelist=${LOCAL_LIST}`, '-o', 'Dir::Etc::sourceparts=-'];
    await mustRun(host, 'apt-get', ['update', ...only, '-o', 'APT::Get::List-Cleanup=0'], UPDATE_TIMEOUT_MS);
    offered.clear();
  };

  /** The lists are updated only if they lack the desired version. */
  const fetchOrInstall = async (args: readonly string[]): Promise<void> => {
    await useLocal();
    const first = await aptGet(args);
    if (first.code === 0) return;
    offered.clear();
    const missing = NEEDS_UPDATE.test(first.stderr) ? await update(host) : [];
    await install(host, args, missing);
  };

  const installed = async (names: readonly string[]): Promise<ReadonlyMap<string, InstalledPackage>> => {
    const result = await host.run('dpkg-query', ['-W', `-f=${FORMAT}`, ...names], { timeoutMs: 30_000 });
    if (result.code === 0 || result.code === 1) return parseInstalled(result.stdout);
    await mustRun(host, 'dpkg-query', ['-W', `-f=${FORMAT}`, ...names]);
    return new Map();
  };

  const differing = async (packages: SoftwareVersions): Promise<readonly (readonly [string, string])[]> => {
    const present = await installed(Object.keys(packages));
    return Object.entries(packages).filter(([name, version]) => present.get(name)?.version !== version);
  };

  const stage = async (packages: SoftwareVersions): Promise<void> => {
    const specs = (await differing(packages)).map(specOf);
    if (specs.length > 0) await fetchOrInstall(['--download-only', ...specs]);
  };

  /** Debian's full version of a package, in the form of its file name. */
  const fileVersion = async (name: string, version: string): Promise<string> => {
    const offers = await mustRun(host, 'apt-cache', ['madison', name]);
    const found = wholeVersionsIn(offers).find((one) => upstreamOf(one) === version);
    if (found !== undefined) return found.replaceAll(':', '%3a');
    const operation = `find the package ${name} ${version}`;
    throw new ExternalFailure({ operation, target: 'host', message: 'no package list of this host has it' });
  };

  return {
    tools: TOOLS,
    installed,
    stage,

    program: async (name, version) => {
      if ((await installed([name])).get(name)?.version === version) return name;
      await stage({ [name]: version });
      const architecture = (await mustRun(host, 'dpkg', ['--print-architecture'])).trim();
      const folder = `${UNPACKED}/${name}-${version}`;
      const archive = `${ARCHIVES}/${name}_${await fileVersion(name, version)}_${architecture}.deb`;
      await mustRun(host, 'dpkg-deb', ['--extract', archive, folder], INSTALL_TIMEOUT_MS);
      return host.at(`${folder}/usr/bin/${name}`);
    },

    install: async (packages) => {
      const specs = (await differing(packages)).map(specOf);
      if (specs.length > 0) await fetchOrInstall(specs);
      await mustRun(host, 'apt-mark', ['hold', ...Object.keys(packages)]);
    },

    require: (names) => fetchOrInstall(names),

    offers: async (name, version) => {
      const versions = offered.get(name) ?? mustRun(host, 'apt-cache', ['madison', name]).then(parseMadison);
      offered.set(name, versions);
      versions.catch(() => offered.delete(name));
      return (await versions).includes(version);
    },
  };
};
