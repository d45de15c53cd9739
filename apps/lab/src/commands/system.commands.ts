import { ARCHITECTURE, KERNEL_VERSION } from '../hosts/host.record.js';
import { parseSettings } from '../hosts/host.js';
import { installedVersion } from './apt.commands.js';
import { parseArguments } from '../arguments/arguments.js';
import { CommandFault, type Command } from './command.js';

const KIB_PER_GIB = 1024 * 1024;

export const sysctl: Command = async ({ host, args, out, err }) => {
  const parsed = parseArguments(args);
  if (parsed.has('--system') || args.some((word) => /^-[a-z]*p/.test(word))) {
    const applied = parsed.has('--system')
      ? await host.applySysctlFiles()
      : await applyFiles(host, parsed.positional.length > 0 ? parsed.positional : ['/etc/sysctl.conf']);
    for (const [key, value] of applied) out(`${key} = ${value}`);
    return 0;
  }
  if (parsed.has('-a', '--all')) {
    for (const [key, value] of Object.entries(host.record.sysctls).sort()) out(`${key} = ${value}`);
    return 0;
  }
  const valueOnly = args.some((word) => /^-[a-z]*n/.test(word));
  let exitCode = 0;
  for (const word of parsed.positional) {
    const [key = '', ...value] = word.split('=');
    const name = key.trim().replaceAll('/', '.');
    if (word.includes('=') && (await host.setSysctl(name, value.join('=').trim()))) {
      out(`${name} = ${value.join('=').trim()}`);
      continue;
    }
    const current = host.record.sysctls[name];
    if (current === undefined || word.includes('=')) {
      err(`sysctl: cannot stat /proc/sys/${name.replaceAll('.', '/')}: No such file or directory`);
      exitCode = 1;
    } else out(valueOnly ? current : `${name} = ${current}`);
  }
  return exitCode;
};

const applyFiles = async (
  host: Parameters<Command>[0]['host'],
  files: readonly string[],
): Promise<readonly (readonly [string, string])[]> => {
  const applied: (readonly [string, string])[] = [];
  for (const file of files) {
    const text = await host.files.readText(file);
    if (text === undefined) throw new CommandFault(`sysctl: cannot open "${file}": No such file or directory`, 1);
    for (const [key, value] of parseSettings(text)) if (await host.setSysctl(key, value)) applied.push([key, value]);
  }
  return applied;
};

export const swapoff: Command = async ({ host }) => {
  await host.setSwap(false);
  return 0;
};

export const swapon: Command = async ({ host, args, out }) => {
  const parsed = parseArguments(args);
  if (parsed.has('-a', '--all') || parsed.positional.length > 0) {
    await host.setSwap(true);
    return 0;
  }
  if (!host.record.swapOn) return 0;
  const onlyName = parsed.value('--show') === 'NAME';
  if (!parsed.has('--noheadings')) out(onlyName ? 'NAME' : 'NAME      TYPE  SIZE USED PRIO');
  out(onlyName ? '/swapfile' : '/swapfile file 1024M   0B   -2');
  return 0;
};

/** Modules of the simulated kernel. */
const MODULES: ReadonlySet<string> = new Set([
  'overlay',
  'br_netfilter',
  'ip_vs',
  'ip_vs_rr',
  'ip_vs_wrr',
  'ip_vs_sh',
  'nf_conntrack',
  'nf_tables',
  'nft_chain_nat',
  'vxlan',
  'wireguard',
  'ip_tables',
  'xt_comment',
  'iscsi_tcp',
]);

export const modprobe: Command = async ({ host, args }) => {
  const parsed = parseArguments(args);
  const all = parsed.has('-a', '--all');
  for (const module of all ? parsed.positional : parsed.positional.slice(0, 1)) {
    const name = module.replaceAll('-', '_');
    if (!MODULES.has(name)) {
      throw new CommandFault(`modprobe: FATAL: Module ${module} not found in directory /lib/modules/${KERNEL_VERSION}`);
    }
    if (parsed.has('-r', '--remove')) await host.unloadModule(name);
    else if (!parsed.has('-n', '--dry-run')) await host.loadModule(name);
  }
  return 0;
};

export const lsmod: Command = ({ host, out }) => {
  out('Module                  Size  Used by');
  for (const module of host.record.modules) out(`${module.padEnd(24)}32768  0`);
  return 0;
};

export const hostname: Command = async ({ host, args, out }) => {
  const parsed = parseArguments(args);
  const [name] = parsed.positional;
  if (name !== undefined) await setHostname(host, name);
  else if (parsed.has('-I', '--all-ip-addresses', '-i')) out(host.facts.address);
  else out(host.record.hostname);
  return 0;
};

const setHostname = async (host: Parameters<Command>[0]['host'], name: string): Promise<void> => {
  host.record.hostname = name;
  await host.files.writeText('/etc/hostname', `${name}\n`);
  host.changed();
};

export const hostnamectl: Command = async ({ host, args, out }) => {
  const parsed = parseArguments(args);
  const [verb, name] = parsed.positional;
  if ((verb === 'set-hostname' || verb === 'hostname') && name !== undefined) {
    await setHostname(host, name);
    return 0;
  }
  if (verb === 'hostname' || parsed.has('--static')) {
    out(host.record.hostname);
    return 0;
  }
  out(` Static hostname: ${host.record.hostname}`);
  out('       Chassis: vm (simulated by Fairlead lab)');
  out(`       Boot ID: ${host.record.bootId.replaceAll('-', '')}`);
  out('Virtualization: fairlead-lab');
  out(`Operating System: ${host.facts.osImage}`);
  out(`        Kernel: Linux ${KERNEL_VERSION}`);
  out('  Architecture: x86-64');
  return 0;
};

export const timedatectl: Command = ({ args, out }) => {
  const parsed = parseArguments(args, ['-p', '--property']);
  const [verb = 'status'] = parsed.positional;
  if (verb === 'show') out(parsed.has('--value') ? 'yes' : 'Timezone=Etc/UTC\nNTP=yes\nNTPSynchronized=yes');
  else if (verb === 'status') {
    out('                Time zone: Etc/UTC (UTC, +0000)');
    out('System clock synchronized: yes');
    out('              NTP service: active');
  }
  return 0;
};

export const uname: Command = ({ host, args, out }) => {
  const parts: Readonly<Record<string, string>> = {
    s: 'Linux',
    n: host.record.hostname,
    r: KERNEL_VERSION,
    v: '#1 SMP Debian 6.1.119-1 (simulated by Fairlead lab)',
    m: ARCHITECTURE,
    o: 'GNU/Linux',
  };
  const asked = args.join('').replaceAll('-', '') || 's';
  const letters = asked.includes('a') ? 'snrvmo' : asked;
  out([...letters].map((letter) => parts[letter] ?? 'unknown').join(' '));
  return 0;
};

const twoDigits = (value: number): string => String(value).padStart(2, '0');

const DATE_PARTS: Readonly<Record<string, (now: Date) => string>> = {
  Y: (now) => String(now.getUTCFullYear()),
  m: (now) => twoDigits(now.getUTCMonth() + 1),
  d: (now) => twoDigits(now.getUTCDate()),
  H: (now) => twoDigits(now.getUTCHours()),
  M: (now) => twoDigits(now.getUTCMinutes()),
  S: (now) => twoDigits(now.getUTCSeconds()),
  F: (now) => now.toISOString().slice(0, 10),
  T: (now) => now.toISOString().slice(11, 19),
  N: (now) => `${String(now.getUTCMilliseconds()).padStart(3, '0')}000000`,
  s: (now) => String(Math.floor(now.getTime() / 1_000)),
  z: () => '+0000',
  Z: () => 'UTC',
  '%': () => '%',
};

/** `date [-u] [+FORMAT]`. A simulated host uses the clock of the real machine and must not set it. */
export const date: Command = ({ args, out }) => {
  const [request, ...others] = args.filter((word) => word !== '-u' && word !== '--utc');
  if (others.length > 0 || (request !== undefined && !request.startsWith('+')))
    throw new CommandFault('date: cannot set date: Operation not permitted', 1);
  const now = new Date();
  const format = request?.slice(1) ?? '%F %T %Z';
  out(format.replaceAll(/%(.)/g, (whole, letter: string) => DATE_PARTS[letter]?.(now) ?? whole));
  return 0;
};

export const id: Command = ({ args, out }) => {
  const short = args.join('');
  if (short.includes('n')) out('root');
  else if (short.includes('u') || short.includes('g')) out('0');
  else out('uid=0(root) gid=0(root) groups=0(root)');
  return 0;
};

const UNKNOWN_KEY = 2;

/** Root is the only user. */
export const getent: Command = ({ args, out }) => {
  const [database, key = 'root'] = args;
  if (database !== 'passwd' || !['root', '0'].includes(key)) return UNKNOWN_KEY;
  out('root:x:0:0:root:/root:/bin/sh');
  return 0;
};

export const whoami: Command = ({ out }) => {
  out('root');
  return 0;
};

export const reboot: Command = ({ host, world }) => {
  world.shutDown(host, true);
  return 0;
};

export const shutdown: Command = ({ host, args, world }) => {
  if (!parseArguments(args).has('-c')) world.shutDown(host, parseArguments(args).has('-r', '--reboot'));
  return 0;
};

export const poweroff: Command = ({ host, world }) => {
  world.shutDown(host, false);
  return 0;
};

export const ip: Command = ({ host, args, out }) => {
  const { positional } = parseArguments(args);
  if (positional[0]?.startsWith('l')) {
    out('1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000');
    out(
      '2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000',
    );
  } else if (positional[0]?.startsWith('r')) out(`default via 127.0.0.1 dev eth0 src ${host.facts.address}`);
  else {
    out('1: lo    inet 127.0.0.1/8 scope host lo');
    out(`2: eth0    inet ${host.facts.address}/16 scope global eth0`);
  }
  return 0;
};

/** Ports that a control plane and a kubelet use (kubernetes.io, "Ports and Protocols"). */
const CONTROL_PLANE_PORTS = [6443, 2379, 2380, 10257, 10259];
const KUBELET_PORT = 10250;

/** `ss -tln`, with `-H` without the header, and for one port with `sport = :PORT`. */
export const ss: Command = async ({ host, args, out, world }) => {
  const ports = [
    22,
    ...(world.clusters.servesApi(host) ? CONTROL_PLANE_PORTS : []),
    ...((await host.services.isRunning('kubelet')) ? [KUBELET_PORT] : []),
  ];
  if (!args.some((word) => /^-[a-zA-Z]*H/.test(word))) out('State  Recv-Q Send-Q Local Address:Port Peer Address:Port');
  const asked = /^sport = :(\d+)$/.exec(args.at(-1) ?? '')?.[1];
  for (const port of ports.filter((each) => asked === undefined || each === Number(asked)))
    out(`LISTEN 0      4096   ${host.facts.address}:${port} 0.0.0.0:*`);
  return 0;
};

export const mount: Command = ({ args, out }) => {
  if (args.length === 0) {
    out('/dev/sda1 on / type ext4 (rw,relatime)');
    out('cgroup2 on /sys/fs/cgroup type cgroup2 (rw,nosuid,nodev,noexec,relatime)');
  }
  return 0;
};

export const nproc: Command = ({ host, out }) => {
  out(String(host.facts.cpuCount));
  return 0;
};

export const free: Command = ({ host, out }) => {
  const total = host.facts.memoryGiB * KIB_PER_GIB;
  out('               total        used        free');
  out(`Mem:  ${total}  ${Math.round(total / 8)}  ${Math.round((total * 7) / 8)}`);
  out(`Swap: ${host.record.swapOn ? KIB_PER_GIB : 0}  0  ${host.record.swapOn ? KIB_PER_GIB : 0}`);
  return 0;
};

/** As `uptime` and `uptime -p` of procps print it, with the load of an idle host. */
export const uptime: Command = ({ host, args, out }) => {
  const minutes = Math.floor((Date.now() - host.record.bootedAtMs) / 60_000);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  const words = [hours === 0 ? '' : `${hours} hours`, `${rest} minutes`].filter(Boolean).join(', ');
  const time = new Date(Date.now()).toISOString().slice(11, 19);
  out(
    args.some((word) => /^(-p|--pretty)$/.test(word))
      ? `up ${words}`
      : ` ${time} up ${words},  0 users,  load average: 0.00, 0.00, 0.00`,
  );
  return 0;
};

export const systemdDetectVirt: Command = ({ out }) => {
  out('fairlead-lab');
  return 0;
};

/** How long a kubelet takes to restart the container of a static pod. */
const RESTART_MS = 1_000;

/**
 * `pkill -TERM -x kube-apiserver` and the like. Only the API server of a simulated host can be ended by name, and its
 * kubelet restarts it. The real pkill would match processes of the machine.
 */
export const pkill: Command = async ({ host, args, world }) => {
  const name = parseArguments(args).positional.at(-1);
  if (name !== 'kube-apiserver' || !world.clusters.servesApi(host)) return 1;
  await world.clusters.stopServing(host);
  setTimeout(() => {
    world.clusters
      .hostChanged(host, installedVersion(host, 'kubelet'))
      .catch((error: unknown) => host.log(`kube-apiserver did not come back: ${String(error)}`));
  }, RESTART_MS).unref();
  return 0;
};

/** `pgrep`: processes of the real machine are never reported. */
export const pgrep: Command = ({ args, world, host }) =>
  parseArguments(args).positional.at(-1) === 'kube-apiserver' && world.clusters.servesApi(host) ? 0 : 1;

export const nothingToDo: Command = () => 0;

/** Prints the hardened options of OpenSSH. The lab's own SSH server is a different one and accepts only keys. */
export const sshd: Command = async ({ host, args, out }) => {
  if (args[0] !== '-T') return 0;
  const text = (await host.files.readText('/etc/ssh/sshd_config.d/00-fairlead.conf')) ?? '';
  for (const line of text.split('\n')) {
    const [name = '', ...value] = line.split(' ');
    if (name !== '' && name !== '#') out(`${name.toLowerCase()} ${value.join(' ')}`);
  }
  return 0;
};
