import { AGENT_PATHS, NFT_TABLE, type AgentConfig } from '@fairlead/contracts';
import { renderStep, type StepName, type RenderedStep } from '@fairlead/node-scripts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AGENT_CONFIG, UID } from '../../../../libs/node-scripts/src/steps/steps.fixtures.js';
import { parseResult } from '../../../../libs/node-scripts/src/shell/result.js';
import { FilesHost, TestMirror } from '../../test/files.host.js';
import { openSource } from '../adapters/files/open.source.js';
import { hostSoftware } from './host.software.js';
import { ensureAll } from './inspection.js';

const MIRROR = '/srv/mirror';
const RUNS = 5;
const LIMIT_MS = 300_000;

/** The state of a host before it became a node. */
interface Owned {
  readonly hostname: string | null;
  readonly fstab: readonly string[];
  readonly containerd: string | null;
  readonly hosts: string | null;
  readonly forwards: '0' | '1';
  /** Of the kernel, below /proc/sys. */
  readonly settings: readonly (readonly [string, string])[];
  /** Files of the owner beside those of Fairlead. */
  readonly files: readonly string[];
  /** Packages that are installed, and whether the owner put them on hold. */
  readonly packages: Readonly<Record<string, 'install' | 'hold'>>;
  /** Loaded modules of the kernel. */
  readonly modules: readonly string[];
  /** Swap that is on, with its priority; it need not be in /etc/fstab. */
  readonly swaps: Readonly<Record<string, number>>;
  /** Live rules of the owner: lines of iptables-save, and names of nftables tables. */
  readonly rules: readonly string[];
  readonly tables: readonly string[];
  readonly crashes: boolean;
}

/** What an owner may have where Fairlead writes files of its own, too. */
const OWN_FILES = [
  '/etc/sysctl.d/60-owner.conf',
  '/etc/modules-load.d/owner.conf',
  '/etc/apt/sources.list.d/owner.list',
  '/etc/systemd/system/backup.service',
  '/etc/systemd/system/containerd.service.d/limits.conf',
  '/etc/systemd/system/kubelet.service.d/owner.conf',
  '/etc/nftables.conf',
  '/etc/containerd/certs.d/registry.example.org/hosts.toml',
  '/etc/default/grub',
  '/usr/local/bin/backup',
];
/** Those that kubelets and kube-proxy change. */
const KERNEL = ['vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops', 'net/netfilter/nf_conntrack_max'];

const hosts: fc.Arbitrary<Owned> = fc.record({
  hostname: fc.constantFrom(null, 'rack-7\n', 'rack-7.example.org\n', 'rack-7'),
  fstab: fc.subarray([
    'UUID=1b2c / ext4 errors=remount-ro 0 1',
    'UUID=77aa none swap sw 0 0',
    '/swapfile\tnone\tswap\tdefaults 0 0',
    '# /dev/sdb2 none swap sw 0 0',
    '',
  ]),
  containerd: fc.constantFrom(null, '# kept by hand\nversion = 2\n', ''),
  hosts: fc.constantFrom(null, '127.0.0.1\tlocalhost\n', '127.0.0.1 localhost\n127.0.1.1 rack-7\n'),
  forwards: fc.constantFrom('0', '1'),
  settings: fc
    .subarray(KERNEL)
    .chain((names) =>
      fc.tuple(...names.map((name) => fc.constantFrom('0', '1', '10').map((value) => [name, value] as const))),
    ),
  files: fc.subarray(OWN_FILES),
  packages: fc.dictionary(fc.constantFrom('containerd', 'kubelet', 'runc', 'vim'), fc.constantFrom('install', 'hold')),
  modules: fc.subarray(['overlay', 'br_netfilter', 'vxlan', 'ip_vs', 'bridge']),
  swaps: fc.dictionary(fc.constantFrom('/dev/sda2', '/swapfile', '/dev/zram0'), fc.constantFrom(-2, 5, 100)),
  rules: fc.subarray(['-A INPUT -s 198.51.100.7/32 -j DROP', '-A FORWARD -j ACCEPT', ':MINE - [0:0]']),
  tables: fc.subarray(['inet mine', 'ip nat', 'ip6 backup']),
  crashes: fc.boolean(),
});

/** Each file and link below these folders, with contents and mode. */
const treeOf = (root: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['etc', 'proc', 'kernel', 'usr/bin', 'usr/local/bin', 'opt/cni/bin', 'var/lib/kubelet'].flatMap((folder) =>
      list(join(root, folder))
        .map((path) => [path.slice(root.length), path] as const)
        .map(([name, path]) => [name, about(path)]),
    ),
  );
const list = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
};
const about = (path: string): string => {
  const link = spawnSync('test', ['-L', path]).status === 0;
  return link
    ? `-> ${readlinkSync(path)}`
    : `${(statSync(path).mode & 0o777).toString(8)} ${readFileSync(path, 'utf8')}`;
};

const dpkg = (root: string, input: string, ...options: readonly string[]): string =>
  spawnSync('dpkg', [`--root=${root}`, ...options], { encoding: 'utf8', input }).stdout ?? '';
/** Names of the packages that are on hold. */
const heldOn = (root: string): readonly string[] =>
  dpkg(root, '', '--get-selections')
    .split('\n')
    .filter((line) => line.endsWith('hold'));

const install = (host: FilesHost, packages: Owned['packages']): void => {
  const about = ([name, selection]: readonly [string, string]): string =>
    `Package: ${name}\nStatus: ${selection} ok installed\nMaintainer: the owner\nArchitecture: all\nVersion: 1.0\nDescription: a package\n`;
  host.write('/var/lib/dpkg/status', Object.entries(packages).map(about).join('\n'));
  for (const folder of ['info', 'updates', 'triggers'])
    mkdirSync(join(host.root, 'var/lib/dpkg', folder), { recursive: true });
};

/**
 * What stands in for the programs of a host that the steps call. The kernel is a folder: its modules and swap are files
 * of /proc, its filters files below /kernel.
 */
const STAND_INS = {
  kubeadm: 'exit 0',
  id: 'echo 0',
  rmmod: [
    'grep -v "^$1 " "$FAIRLEAD_ROOT/proc/modules" >"$FAIRLEAD_ROOT/proc/modules.new"',
    'cat "$FAIRLEAD_ROOT/proc/modules.new" >"$FAIRLEAD_ROOT/proc/modules"; rm "$FAIRLEAD_ROOT/proc/modules.new"',
    'if [ "$1" = br_netfilter ]; then rm -r "$FAIRLEAD_ROOT/proc/sys/net/bridge"; fi',
    'if [ "$1" = overlay ]; then : >"$FAIRLEAD_ROOT/proc/filesystems"; fi',
  ].join('\n'),
  swapon: [
    'priority=-2; if [ "$1" = -p ]; then priority=$2; shift 2; fi',
    'printf "%s partition 1 0 %s\\n" "$1" "$priority" >>"$FAIRLEAD_ROOT/proc/swaps"',
  ].join('\n'),
  'iptables-save': 'cat "$FAIRLEAD_ROOT/kernel/iptables"',
  'iptables-restore': 'rules=$(cat); printf "%s\\n" "$rules" >"$FAIRLEAD_ROOT/kernel/iptables"',
  nft: [
    'table="$FAIRLEAD_ROOT/kernel/nft/$3 $4"',
    'case "$1 $2" in',
    '"list tables") for each in "$FAIRLEAD_ROOT"/kernel/nft/*; do [ ! -e "$each" ] || echo "table ${each##*/}"; done ;;',
    '"list table") cat "$table" ;;',
    '"delete table") rm "$table" ;;',
    'esac',
  ].join('\n'),
};

class Steps {
  private readonly bin: string;

  constructor(
    private readonly root: string,
    private readonly mutated: (script: string) => string = (script) => script,
  ) {
    this.bin = join(root, 'stand-ins');
    mkdirSync(this.bin);
    const connected = `[ "$1" != restart ] || : >"$FAIRLEAD_ROOT${AGENT_PATHS.connected}"`;
    for (const [name, text] of Object.entries({ ...STAND_INS, systemctl: `${connected}\nexit 0` })) {
      writeFileSync(join(this.bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(this.bin, name), 0o755);
    }
  }

  take<Step extends StepName>(rendered: RenderedStep<Step>) {
    const file = join(this.root, `${rendered.step}.sh`);
    writeFileSync(file, this.mutated(rendered.script));
    const env = { PATH: `${this.bin}:${process.env['PATH'] ?? ''}`, FAIRLEAD_ROOT: this.root };
    const { status, stdout, stderr } = spawnSync('/bin/sh', [file], { encoding: 'utf8', env });
    if (status !== 0) throw new Error(`${rendered.step}: ${stderr}${stdout}`);
    return rendered.result.parse(parseResult(stdout));
  }
}

const MODULE = ' 32768 0 - Live 0x0000000000000000\n';
const SWAPS = 'Filename Type Size Used Priority\n';
const BRIDGED = ['iptables', 'ip6tables'].map((name) => `/proc/sys/net/bridge/bridge-nf-call-${name}`);

const table = (host: FilesHost, name: string): void =>
  host.write(`/kernel/nft/${name}`, `table ${name} {\n  chain mine {\n    ip saddr 198.51.100.7 drop\n  }\n}\n`);
const load = (host: FilesHost, module: string): void => {
  if (host.read('/proc/modules').includes(`${module} `)) return;
  host.write('/proc/modules', `${module}${MODULE}${host.read('/proc/modules')}`);
  if (module === 'br_netfilter') for (const path of BRIDGED) host.write(path, '1\n');
  if (module === 'overlay') host.write('/proc/filesystems', 'nodev\toverlay\n');
};

const buildKernel = (host: FilesHost, { modules, swaps, rules, tables }: Owned): void => {
  // FilesHost has them from the beginning.
  rmSync(join(host.root, 'proc/sys/net/bridge'), { recursive: true, force: true });
  host.write('/proc/filesystems', '');
  host.write('/proc/modules', `ext4${MODULE}`);
  for (const module of modules) load(host, module);
  const on = Object.entries(swaps).map(([name, priority]) => `${name} partition 1 0 ${priority}\n`);
  host.write('/proc/swaps', SWAPS + on.join(''));
  host.write('/kernel/iptables', ['*filter', ...rules, 'COMMIT', ''].join('\n'));
  mkdirSync(join(host.root, 'kernel/nft'), { recursive: true });
  for (const name of tables) table(host, name);
};

const build = (owned: Owned): FilesHost => {
  const host = new FilesHost();
  new TestMirror(join(host.root, MIRROR)).addRelease('v1.34.4');
  host.write('/etc/fstab', owned.fstab.map((line) => `${line}\n`).join(''));
  host.write('/proc/sys/net/ipv4/ip_forward', `${owned.forwards}\n`);
  host.write('/proc/sys/vm/overcommit_memory', '0\n');
  for (const [name, value] of owned.settings) host.write(`/proc/sys/${name}`, `${value}\n`);
  for (const path of owned.files) host.write(path, `# of the owner: ${path}\n`);
  install(host, owned.packages);
  buildKernel(host, owned);
  if (owned.hostname !== null) host.write('/etc/hostname', owned.hostname);
  if (owned.containerd !== null) host.write('/etc/containerd/config.toml', owned.containerd);
  if (owned.hosts !== null) host.write('/etc/hosts', owned.hosts);
  return host;
};

/** What kube-proxy, a network plugin and Fairlead's firewall add to the kernel. */
const nodeRules = (host: FilesHost): void => {
  for (const module of ['vxlan', 'ip_vs', 'ip_vs_rr']) load(host, module);
  const [first = '', ...others] = host.read('/kernel/iptables').split('\n');
  const chains = [':KUBE-SERVICES - [0:0]', ':FLANNEL-FWD - [0:0]', '-A INPUT -j KUBE-SERVICES'];
  host.write('/kernel/iptables', [first, ...chains, ...others].join('\n'));
  for (const name of ['ip kube-proxy', 'ip flannel-ipv4', NFT_TABLE]) table(host, name);
};

/** The real agent's software on the host, and what its kubelet changes. */
const work = async (host: FilesHost, { packages, settings }: Owned): Promise<void> => {
  const software = hostSoftware({
    config: {
      role: 'control-plane',
      leader: true,
      profile: { source: { kind: 'files', location: MIRROR, unsigned: true } },
    } as AgentConfig,
    host: host.port,
    files: host.files,
    openSource,
    architecture: 'amd64',
    log: () => undefined,
  });
  const options = {
    node: AGENT_CONFIG.node,
    desired: { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' },
    hasBeenReady: false,
    profile: { failSwapOn: true, cgroupDriver: 'cgroupfs' } as const,
  };
  // As the kernel does with the commands of the agent.
  host.beforeRun = (line) => {
    const [, module] = /^modprobe (\S+)$/.exec(line) ?? [];
    if (module !== undefined) load(host, module);
    if (line === 'swapoff -a') host.write('/proc/swaps', SWAPS);
  };
  // Like `sysctl -w` on a real host.
  host.write('/proc/sys/net/ipv4/ip_forward', '1\n');
  expect((await ensureAll(software.view(options).stages)).failed).toBeUndefined();
  host.write('/proc/sys/vm/overcommit_memory', '1\n');
  for (const [name] of settings) host.write(`/proc/sys/${name}`, '7\n');
  host.write('/var/lib/kubelet/config.yaml', 'kind: KubeletConfiguration\n');
  nodeRules(host);
  // As `apt-mark hold` does where the software comes in packages.
  const changed = Object.keys(packages).filter((name) => name !== 'vim');
  dpkg(host.root, changed.map((name) => `${name} hold\n`).join(''), '--set-selections');
};

const prepare = (steps: Steps, host: FilesHost): void => {
  const program = '// the agent\n';
  host.write('/opt/fairlead/agent.next.mjs', program);
  const sha256 = spawnSync('sha256sum', { input: program, encoding: 'utf8' }).stdout.slice(0, 64);
  const rendered = renderStep('prepare', {
    agent: { sha256, version: '0.1.0' },
    config: AGENT_CONFIG,
    credentials: null,
    nodeBinary: process.execPath,
    ownNode: null,
    bundle: null,
  });
  expect(steps.take(rendered)).toMatchObject({ agent: 'started' });
};

type State = readonly unknown[];

/** What a host was before it became a node, while it was one, and after its reset; the latter with what the reset itself found left. */
const life = async (owned: Owned, mutated?: (script: string) => string): Promise<readonly [State, State, State]> => {
  const host = build(owned);
  try {
    const steps = new Steps(host.root, mutated);
    const state = (): State => [treeOf(host.root), heldOn(host.root)];
    const before = state();
    const { baseline } = steps.take(renderStep('look', {}));
    prepare(steps, host);
    await work(host, owned);
    // An agent that is started again, as after an update of Fairlead, does not take the node for what was there before.
    if (owned.crashes) prepare(steps, host);
    const node = state();
    const wipe = { baseline, keepRuntime: false };
    const { left } = steps.take(renderStep('kubeadm-reset', { removeAgent: true, of: UID, wipe }));
    const after = [...state(), left, steps.take(renderStep('look', {})).baseline];
    return [[...before, [], baseline], node, after];
  } finally {
    host.remove();
  }
};

/** An owner who has something of everything. */
const RICH: Owned = {
  hostname: 'rack-7\n',
  fstab: ['UUID=77aa none swap sw 0 0'],
  containerd: null,
  hosts: null,
  forwards: '0',
  settings: [['kernel/panic', '10']],
  files: [],
  packages: { containerd: 'install', runc: 'hold', vim: 'hold' },
  modules: ['bridge'],
  swaps: { '/dev/sda2': -2, '/swapfile': 5 },
  rules: [':MINE - [0:0]'],
  tables: ['inet mine'],
  crashes: false,
};

/** A part of the reset that is left out. */
const MUTANTS: Readonly<Record<string, readonly [string, string]>> = {
  'the hold on packages': ['| dpkg_here --set-selections', '| cat'],
  'settings of the kernel': [' >"$root/proc/sys/$setting"', ' >/dev/null'],
  'the name of the host': ['cp -p "$before/$file" "$root/$file"', ':'],
  swap: ['quiet swapon "$swap"', ':'],
  'modules of the kernel': ['quiet rmmod "$module"', ':'],
  'filter rules': ['| "$kind-restore" >>', '| cat >>'],
  'filter tables': ['quiet nft delete table $table', ':'],
};

describe('a reset host', () => {
  it(
    'returns to the state before it was a node, whatever that was',
    async () => {
      const property = fc.asyncProperty(hosts, async (owned) => {
        const [before, node, after] = await life(owned);
        expect(node).not.toEqual(before.slice(0, node.length));
        expect(after).toEqual(before);
      });
      await fc.assert(property, { numRuns: RUNS });
    },
    LIMIT_MS,
  );

  it('returns with everything that an owner may have', async () => {
    const [before, , after] = await life(RICH);
    expect(after).toEqual(before);
  });

  it.each(Object.entries(MUTANTS))('would not, if a reset forgot %s', async (_what, [there, instead]) => {
    let found = 0;
    const [before, , after] = await life(RICH, (script) => {
      found += script.split(there).length - 1;
      return script.replaceAll(there, instead);
    });
    expect(found).toBeGreaterThan(0);
    expect(after).not.toEqual(before);
  });
});
