import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mirrorPaths, type MirrorCatalogue, type MirrorImage } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { realFiles } from '../src/adapters/files/real.files.js';
import { realHost } from '../src/adapters/host/real.host.js';
import type { CommandResult, HostPort } from '../src/node/host.ports.js';
import type { HostFiles } from '../src/files/files.ports.js';
import { MemoryHost } from './memory.host.js';

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

const SAYS: Readonly<Record<string, (version: string) => string>> = {
  kubeadm: (version) => version,
  kubelet: (version) => `Kubernetes ${version}`,
  kubectl: (version) => `Client Version: ${version}`,
};

const image = (version: string, name: string, roles: MirrorImage['roles']): MirrorImage => ({
  name,
  reference: `registry.k8s.io/${name}:${version}`,
  path: `images/${version}/${name}.tar`,
  roles,
});

/** A mirror in a folder, with shell scripts that print their version as programs. */
export class TestMirror {
  private readonly catalogue: MirrorCatalogue = {
    format: 'fairlead-mirror/1',
    platform: 'linux/amd64',
    releases: [],
    images: [],
    packages: [],
    files: [],
  };

  constructor(readonly folder: string) {}

  addRelease(version: string): this {
    const both: MirrorImage['roles'] = ['control-plane', 'worker'];
    const images = [
      image(version, 'kube-apiserver', ['control-plane']),
      image(version, 'kube-proxy', both),
      image(version, 'pause', both),
    ];
    const binaries = Object.entries(SAYS).map(([name, says]) =>
      this.add(`release/${version}/bin/linux/amd64/${name}`, `#!/bin/sh\necho '${says(version)}'\n`),
    );
    for (const { path, name } of images) this.add(path, `image ${name} ${version}`);
    this.catalogue.releases.push({
      version,
      components: [],
      binaries,
      cniPlugins: this.addPlugins(version),
      images,
      tools: [this.add(`tools/etcd-${version}/etcdctl`, `etcdctl ${version}`)],
      conformance: [],
    });
    this.write('catalogue.json', JSON.stringify(this.catalogue));
    return this;
  }

  /** Adds files in the layout of the official site, whose CNI plugins have a different path. Returns all digests. */
  addOfficial(): { [path: string]: string } {
    const [archive] = this.catalogue.releases.map(({ cniPlugins }) => cniPlugins);
    const official = mirrorPaths.cniPlugins('v1.9.1');
    this.write(official, this.read(archive ?? ''));
    const paths = [official, ...this.catalogue.releases.flatMap(({ binaries }) => binaries)];
    return Object.fromEntries(paths.map((path) => [path, sha256(this.read(path))]));
  }

  /** Replaces a file, and updates its digest in the catalogue. */
  replace(path: string, content: string): void {
    this.write(path, content);
    for (const file of this.catalogue.files)
      if (file.path === path) Object.assign(file, { size: content.length, sha256: sha256(content) });
    this.write('catalogue.json', JSON.stringify(this.catalogue));
  }

  read(path: string): Buffer {
    return readFileSync(join(this.folder, path));
  }

  addPackages(distribution: string): this {
    const folder = mirrorPaths.packages(distribution);
    const files = [this.add(`${folder}/Packages`, 'Package: socat\n')];
    this.catalogue.packages.push({ distribution, folder, requested: [], files });
    this.write('catalogue.json', JSON.stringify(this.catalogue));
    return this;
  }

  write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), content);
  }

  private add(path: string, content: string | Buffer): string {
    this.write(path, content);
    this.catalogue.files.push({ path, size: content.length, sha256: sha256(content) });
    return path;
  }

  private addPlugins(version: string): string {
    const unpacked = newFolder('plugins');
    for (const name of ['bridge', 'loopback'])
      writeFileSync(join(unpacked, name), `${name} for ${version}`, { mode: 0o755 });
    const archive = execFileSync('tar', ['-C', unpacked, '-czf', '-', 'bridge', 'loopback']);
    rmSync(unpacked, { recursive: true });
    return this.add(`cni-plugins/${version}/plugins.tgz`, archive);
  }
}

/** A host with real files below a folder. Its own programs run; the rest of a Debian host is simulated in memory. */
export class FilesHost {
  readonly root = newFolder('files');
  readonly memory = new MemoryHost();
  readonly files: HostFiles = realFiles(this.root);
  readonly images = new Set<string>();
  /** Pinned images, which a kubelet keeps. */
  readonly pinned = new Set<string>();
  /** Commands that changed something, in order. */
  readonly changes: string[] = this.memory.changes;
  /** Called before each command; throwing simulates a crash of the agent. */
  beforeRun: (line: string) => void = () => undefined;
  readonly port: HostPort;

  constructor() {
    const real = realHost(this.root);
    this.memory.files.clear();
    this.port = {
      ...real,
      run: async (command, args, options) => {
        const line = [command, ...args].join(' ').replaceAll(this.root, '');
        this.beforeRun(line);
        if (command === 'tar' || command.startsWith(this.root)) return real.run(command, args, options);
        return this.ctr(command, args, line) ?? this.memory.run(command, args);
      },
      rename: async (from, to) => {
        this.beforeRun(`rename ${to}`);
        await real.rename(from, to);
      },
    };
    for (const name of ['containerd', ...TOOLS])
      this.memory.packages.set(name, { version: '1.7.24-1', held: name === 'containerd' });
    this.write('/etc/fstab', '');
    this.write('/proc/sys/net/bridge/bridge-nf-call-iptables', '1\n');
    for (const key of ['net/ipv4/ip_forward', 'net/bridge/bridge-nf-call-ip6tables'])
      this.write(`/proc/sys/${key}`, '1\n');
    this.write('/proc/filesystems', 'nodev\toverlay\n');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  remove(): void {
    removeFolder(this.root);
  }

  private ctr(command: string, args: readonly string[], line: string): CommandResult | undefined {
    const ok = (stdout: string): CommandResult => ({ code: 0, stdout, stderr: '' });
    if (line === 'systemctl daemon-reload') {
      this.changes.push(line);
      return ok('');
    }
    if (line.startsWith('systemctl show --property=LoadState')) return ok('LoadState=loaded\nNeedDaemonReload=no\n');
    if (command !== 'ctr') return undefined;
    if (args.includes('ls'))
      return ok([...(args.some((each) => each.includes('pinned')) ? this.pinned : this.images)].join('\n'));
    if (args.includes('label')) {
      const [reference = '', label = ''] = args.slice(-2);
      if (label === 'io.cri-containerd.pinned=pinned') this.pinned.add(reference);
      else this.pinned.delete(reference);
      return ok('');
    }
    const [, name, version] = readFileSync(args.at(-1) ?? '', 'utf8').split(' ');
    this.images.add(`registry.k8s.io/${name}:${version}`);
    this.changes.push(`import ${name}`);
    return ok('');
  }
}

const TOOLS = ['conntrack', 'ebtables', 'ethtool', 'iproute2', 'iptables', 'kmod', 'mount', 'procps', 'socat'];
