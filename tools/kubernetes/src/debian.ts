import { wordsOf } from '@fairlead/contracts';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { spawn } from 'node:child_process';
import { readTar, type TarEntry } from '@fairlead/mirror';
import { has, run } from './command.js';
import { linkOrCopy } from './files.js';
import type { Layer, LayerItem } from './image.js';
import { Refusal } from './refusal.js';

/** A distribution whose packages hosts use, with the path of its keyring. */
export interface Distribution {
  /** ID-VERSION_ID of its /etc/os-release. */
  readonly name: string;
  readonly suite: string;
  readonly component: string;
  readonly keyring: string;
  /** Matches the end of the URL of its archives. */
  readonly archive: RegExp;
  /** The archive and suite of its security updates. */
  readonly security: { readonly archive: RegExp; readonly suite: string };
}

const debian = (version: number, suite: string): Distribution => ({
  name: `debian-${version}`,
  suite,
  component: 'main',
  keyring: '/usr/share/keyrings/debian-archive-keyring.gpg',
  archive: /\/debian\/?$/,
  security: { archive: /\/debian-security\/?$/, suite: `${suite}-security` },
});

const ubuntu = (version: string, suite: string): Distribution => ({
  name: `ubuntu-${version}`,
  suite,
  component: 'main universe',
  keyring: '/usr/share/keyrings/ubuntu-archive-keyring.gpg',
  archive: /\/ubuntu\/?$/,
  security: { archive: /\/ubuntu\/?$/, suite: `${suite}-security` },
});

/** The images take their network tools from the first one of a kind. */
export const DISTRIBUTIONS: readonly Distribution[] = [
  debian(13, 'trixie'),
  debian(12, 'bookworm'),
  ubuntu('24.04', 'noble'),
  ubuntu('22.04', 'jammy'),
];

/** Required on a host by kubeadm's preflight checks, the CNI plugins, kube-proxy and the virtual IP address. */
export const HOST_PACKAGES = [
  'containerd',
  'runc',
  'conntrack',
  'socat',
  'ethtool',
  'ebtables',
  'iptables',
  'nftables',
  'ipset',
  'iproute2',
  'kmod',
  'procps',
  'haproxy',
  'keepalived',
  'chrony',
] as const;

/** A set of programs for an image, and the packages that contain them. */
export interface ProgramSet {
  readonly packages: readonly string[];
  readonly programs: ReadonlySet<string>;
}

/** Called by kube-proxy and flannel. */
export const NETWORK_TOOLS: ProgramSet = {
  packages: ['iptables', 'nftables', 'conntrack'],
  programs: new Set(['usr/sbin/nft', 'usr/sbin/xtables-nft-multi', 'usr/sbin/conntrack']),
};

/** Called by the Kubernetes tests in their pods. */
export const TEST_TOOLS: ProgramSet = {
  packages: ['bash', 'bind9-dnsutils', 'curl', 'iproute2', 'libc-bin', 'netcat-openbsd'],
  programs: new Set(['bash', 'curl', 'dig', 'getent', 'nc.openbsd', 'ss'].map((name) => `usr/bin/${name}`)),
};

/** A shell that passes its whole environment on, and prefers the programs of the image to builtins. */
export const TEST_SHELL: ProgramSet = { packages: ['bash-static'], programs: new Set(['usr/bin/bash-static']) };

/** Contains a shell and the basic tools. */
export const BUSYBOX_PACKAGE = 'busybox-static';

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly stanza: string;
}

/**
 * An apt with its own state: it uses the machine's archives and proxies, and treats no package as installed, so that it
 * downloads all dependencies. It does not change the state of the machine's own apt.
 */
export class Apt {
  private constructor(
    private readonly folder: string,
    private readonly signal: AbortSignal,
  ) {}

  static async open(folder: string, distribution: Distribution, signal: AbortSignal): Promise<Apt> {
    await refuseMissing();
    for (const name of ['lists/partial', 'cache', 'archives/partial'])
      await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, 'status'), '');
    await writeFile(join(folder, 'sources.list'), sourcesOf(distribution, await archivesOfMachine(signal)));
    const apt = new Apt(folder, signal);
    await apt.get(['update']);
    return apt;
  }

  /** Downloads the packages and all their dependencies, sorted by name. */
  async fetch(names: readonly string[], onNote: (note: string) => void): Promise<readonly Package[]> {
    await this.get(['install', '--yes', '--download-only', ...names], onNote);
    const selections = await this.closure(names);
    // One call for all packages: each call would read the whole index.
    const stanzas = await this.apt('apt-cache', ['show', '--no-all-versions', ...selections]);
    return Promise.all(
      stanzas
        .trim()
        .split('\n\n')
        .map((stanza) => this.describe(stanza)),
    );
  }

  /** `name=version` of every package that an installation would install. */
  private async closure(names: readonly string[]): Promise<readonly string[]> {
    const text = await this.get(['install', '--simulate', ...names]);
    return [...text.matchAll(/^Inst (\S+) \((\S+) /gm)].map(([, name, version]) => `${name}=${version}`).sort();
  }

  private async describe(stanza: string): Promise<Package> {
    const field = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(stanza)?.[1] ?? '';
    const [name, version, architecture] = [field('Package'), field('Version'), field('Architecture')];
    const kept = `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`;
    const file = basename(field('Filename'));
    await linkOrCopy(this.path('archives', kept), this.path(file));
    return { name, version, file: this.path(file), stanza: stanza.replace(/^Filename: .*$/m, `Filename: ./${file}`) };
  }

  private get(args: readonly string[], onNote?: (note: string) => void): Promise<string> {
    return this.apt('apt-get', ['--quiet', ...args], onNote);
  }

  private apt(program: string, args: readonly string[], onNote?: (note: string) => void): Promise<string> {
    const settings = {
      'Dir::State': this.folder,
      'Dir::State::lists': this.path('lists'),
      'Dir::State::status': this.path('status'),
      'Dir::Cache': this.path('cache'),
      'Dir::Cache::archives': this.path('archives'),
      'Dir::Etc::sourcelist': this.path('sources.list'),
      'Dir::Etc::sourceparts': '-',
      'Dir::Etc::preferencesparts': '-',
      'APT::Architecture': 'amd64',
      'APT::Architectures': 'amd64',
      'APT::Install-Recommends': 'false',
      'APT::Sandbox::User': '', // apt's own user may not have access to the folder.
      'Acquire::Languages': 'none',
      'Debug::NoLocking': 'true',
    };
    return run(program, [...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]), ...args], {
      env: { LC_ALL: 'C' },
      signal: this.signal,
      ...(onNote === undefined ? {} : { onLine: onNote }),
    });
  }

  private path(...parts: readonly string[]): string {
    return join(this.folder, ...parts);
  }
}

const refuseMissing = async (): Promise<void> => {
  for (const program of ['apt-get', 'dpkg-deb']) {
    if (await has(program)) continue;
    throw new Refusal(
      `${program} is not here: the packages of hosts, and the programs that kube-proxy calls, come from Debian or Ubuntu. Run this on one of them (a container or a chroot will do).`,
    );
  }
};

/** The archives that the machine itself uses: they are near, and may be the only ones that it can reach. */
const archivesOfMachine = async (signal: AbortSignal): Promise<readonly string[]> => {
  const text = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'], { signal });
  return [...new Set(text.split('\n').filter((line) => line !== ''))];
};

/**
 * The sources.list of a distribution, built from the archives that the machine itself uses. Throws Refusal if none of
 * them has the distribution.
 */
export const sourcesOf = (distribution: Distribution, archives: readonly string[]): string => {
  const { suite, component, keyring, archive, security, name } = distribution;
  const found = archives.find((uri) => archive.test(uri));
  if (found === undefined)
    throw new Refusal(
      `This machine's apt knows no archive of ${name} (it has ${archives.join(', ') || 'none'}). Choose another by --packages, or add one to its sources.`,
    );
  const updates = archives.find((uri) => security.archive.test(uri));
  const lines = [`deb [signed-by=${keyring}] ${found} ${suite} ${component}`];
  if (updates !== undefined) lines.push(`deb [signed-by=${keyring}] ${updates} ${security.suite} ${component}`);
  return `${lines.join('\n')}\n`;
};

/**
 * Writes a flat repository that apt uses by `deb [trusted=yes] file:<folder> ./`; apt verifies each package by the
 * SHA-256 of the index.
 */
export const writeRepository = async (packages: readonly Package[], into: string): Promise<void> => {
  await mkdir(into, { recursive: true });
  for (const { file } of packages) await linkOrCopy(file, join(into, basename(file)));
  const index = packages.map(({ stanza }) => `${stanza.trim()}\n`).join('\n');
  await writeFile(join(into, 'Packages.new'), index);
  await rename(join(into, 'Packages.new'), join(into, 'Packages'));
};

/** The selected members of a package, in memory. */
export async function* membersOf(
  deb: string,
  isDesired: (entry: TarEntry) => boolean,
): AsyncGenerator<LayerItem, void> {
  const child = spawn('dpkg-deb', ['--fsys-tarfile', deb], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const { entry, content } of readTar(child.stdout)) {
    if (!isDesired(entry)) continue;
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(Buffer.from(part));
    yield entry.type === 'file' ? { entry, content: Buffer.concat(parts) } : { entry };
  }
}

const LIBRARIES = /^usr\/lib\/x86_64-linux-gnu\/(xtables\/)?[^/]+\.so[^/]*$|^usr\/lib64\/ld-linux-x86-64\.so\.2$/;

/** These programs and all shared libraries of the packages, for images that call them. */
export const programsOf = async (packages: readonly Package[], programs: ReadonlySet<string>): Promise<Layer> => {
  const items: LayerItem[] = [];
  for (const { file } of packages) {
    const isDesired = ({ path }: TarEntry) => LIBRARIES.test(path) || programs.has(path);
    for await (const item of membersOf(file, isDesired)) items.push(item);
  }
  return items.sort((one, other) => (one.entry.path < other.entry.path ? -1 : 1));
};

/** ID-VERSION_ID of the build machine. */
export const distributionOfMachine = async (): Promise<string> => {
  const text = await osRelease();
  const field = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(text)?.[1] ?? '';
  return `${field('ID')}-${field('VERSION_ID')}`;
};

const osRelease = async (): Promise<string> => {
  try {
    return await readFile('/etc/os-release', 'utf8');
  } catch (error) {
    const words = wordsOf(error);
    throw new Refusal(`This machine does not say which Linux it is (${words}). Run this on a Debian or an Ubuntu.`);
  }
};
