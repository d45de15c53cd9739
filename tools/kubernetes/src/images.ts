import { join } from 'node:path';
import { directoryEntry, fileEntry, symlinkEntry, type TarEntry } from '@fairlead/mirror';
import { programItem, textItem, writeImage, type ImageConfig, type Layer, type LayerItem } from './image.js';

/**
 * What is in which image. No image has a base of someone else's: the programs are static, and those that are not bring their
 * libraries in a layer.
 */

const directory = (path: string, mode?: number): LayerItem => ({ entry: directoryEntry(path, mode) });
const link = (path: string, target: string): LayerItem => ({ entry: symlinkEntry(path, target) });

/** Debian keeps programs and libraries below /usr; the old places lead there. */
const SYSTEM: Layer = [
  directory('etc'),
  textItem('etc/group', 'root:x:0:\nnogroup:x:65534:\n'),
  textItem('etc/nsswitch.conf', 'hosts: files dns\n'),
  textItem('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n'),
  directory('root', 0o700),
  directory('run'),
  directory('tmp', 0o1777),
  directory('usr'),
  ...['bin', 'lib', 'lib64', 'local', 'local/bin', 'sbin'].map((name) => directory(`usr/${name}`)),
  directory('var'),
  ...['bin', 'lib', 'lib64', 'sbin'].map((name) => link(name, `usr/${name}`)),
];

const IPTABLES_NAMES = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

/**
 * nft prints `6` for `tcp` where no file names protocols. kube-proxy then treats the elements of its own maps as foreign: each
 * time it writes all of its rules, as at its start, it removes those of every service that was there before.
 */
export const PROTOCOLS = [
  ['ip', 0],
  ['icmp', 1],
  ['tcp', 6],
  ['udp', 17],
  ['ipv6-icmp', 58],
  ['sctp', 132],
]
  .map(([name, number]) => `${name} ${number}\n`)
  .join('');

/** With the names under which iptables is called; all of them work on nftables. */
export const networkLayer = (tools: Layer): Layer => [
  ...SYSTEM,
  textItem('etc/protocols', PROTOCOLS),
  ...tools,
  ...IPTABLES_NAMES.map((name) => link(`usr/sbin/${name}`, 'xtables-nft-multi')),
];

/** What people and scripts look for in a small system. */
export const BUSYBOX_NAMES = [
  '[ [[ addgroup adduser arp ash awk base64 basename blkid cal cat chgrp chmod chown chroot clear cmp',
  'comm cp cut date dd df diff dirname dmesg du echo env expand expr false find fold free getopt grep',
  'gunzip gzip head hexdump hostname httpd id ifconfig ip kill killall less ln ls lsof md5sum mkdir',
  'mkfifo mknod mktemp more mount mv nc netstat nice nohup nproc nslookup od paste pgrep pidof ping',
  'ping6 pkill printenv printf ps pwd readlink realpath reset rev rm rmdir route sed seq setsid sh',
  'sha1sum sha256sum sha512sum sleep sort split stat strings stty su sync sysctl tac tail tar tee',
  'telnet test time timeout top touch tr traceroute true truncate tty umount uname uniq unzip uptime',
  'usleep vi watch wc wget which whoami xargs yes zcat',
]
  .join(' ')
  .split(' ');

const busyboxItems = (busybox: Buffer, names: readonly string[]): Layer => {
  const entry: TarEntry = fileEntry('usr/bin/busybox', busybox.length, 0o755);
  return [{ entry, content: busybox }, ...names.map((name) => link(`usr/bin/${name}`, 'busybox'))];
};

export const busyboxLayer = (busybox: Buffer): Layer => [...SYSTEM, ...busyboxItems(busybox, BUSYBOX_NAMES)];

const programsIn = (folder: string, ...programs: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(programs.map((program) => [`usr/local/bin/${program}`, join(folder, program)]));

/** As in the image that kubeadm names: with it a snapshot is streamed out of the container (docs/adr, etcd through its own containers). */
const ETCD_NAMES = ['cp', 'sh'];

/** etcd, its tools, and the little that they cannot do. */
export const etcdImage = (folder: string, busybox: Buffer): ImageRecipe => ({
  layers: [[...SYSTEM, ...busyboxItems(busybox, ETCD_NAMES)]],
  programs: programsIn(folder, 'etcd', 'etcdctl', 'etcdutl'),
});

export interface ImageRecipe {
  /** Below the images; the first may be shared with others. */
  readonly layers: readonly Layer[];
  /** Program's path in the image to the file that it is. */
  readonly programs: Readonly<Record<string, string>>;
  readonly config?: ImageConfig;
}

/** The layers below, then one with the programs. */
export const makeImage = async (file: string, references: readonly string[], recipe: ImageRecipe): Promise<void> => {
  const programs = await Promise.all(
    Object.entries(recipe.programs).map(([path, program]) => programItem(path, program)),
  );
  await writeImage(
    file,
    references,
    programs.length === 0 ? recipe.layers : [...recipe.layers, programs],
    recipe.config ?? {},
  );
};

/** How the image of a Kubernetes component is made of programs that lie in folders of the builder. */
export const componentImage = (name: string, folders: ProgramFolders, network: Layer): ImageRecipe => {
  switch (name) {
    case 'coredns':
      return {
        layers: [SYSTEM],
        programs: { coredns: join(folders.coredns, 'coredns') },
        config: { entrypoint: ['/coredns'] },
      };
    case 'pause':
      return { layers: [], programs: { pause: join(folders.pause, 'pause') }, config: { entrypoint: ['/pause'] } };
    case 'kube-proxy':
      return { layers: [network], programs: programsIn(folders.kubernetes, name) };
    default:
      return { layers: [SYSTEM], programs: programsIn(folders.kubernetes, name) };
  }
};

export interface ProgramFolders {
  readonly kubernetes: string;
  readonly coredns: string;
  readonly pause: string;
}
