import { join } from 'node:path';
import { directoryEntry, fileEntry, symlinkEntry, type TarEntry } from '@fairlead/mirror';
import { programItem, textItem, writeImage, type ImageConfig, type Layer, type LayerItem } from './image.js';

/**
 * The content of the images. No image has a third-party base: programs are static, or their libraries are in a layer.
 */

const directory = (path: string, mode?: number): LayerItem => ({ entry: directoryEntry(path, mode) });
const link = (path: string, target: string): LayerItem => ({ entry: symlinkEntry(path, target) });

/** Debian has programs and libraries in /usr; the old paths are symbolic links. */
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
 * nft prints `6` instead of `tcp` without a file of protocol names. kube-proxy then does not recognize the elements of
 * its own maps: each full sync, as at startup, removes those of every existing service.
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

/** With all names of iptables, which use the nftables backend. */
export const networkLayer = (tools: Layer): Layer => [
  ...SYSTEM,
  textItem('etc/protocols', PROTOCOLS),
  ...tools,
  ...IPTABLES_NAMES.map((name) => link(`usr/sbin/${name}`, 'xtables-nft-multi')),
];

/** The commands that users and scripts expect in a small system. */
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

/**
 * As in the image that kubeadm names: they stream a snapshot out of the container (docs/adr, etcd through its own
 * containers).
 */
const ETCD_NAMES = ['cp', 'sh'];

/** etcd, its tools, and the few commands that they lack. */
export const etcdImage = (folder: string, busybox: Buffer): ImageRecipe => ({
  layers: [[...SYSTEM, ...busyboxItems(busybox, ETCD_NAMES)]],
  programs: programsIn(folder, 'etcd', 'etcdctl', 'etcdutl'),
});

export interface ImageRecipe {
  /** Below the layer of programs; the first one may be shared with other images. */
  readonly layers: readonly Layer[];
  /** From a program's path in the image to its file. */
  readonly programs: Readonly<Record<string, string>>;
  readonly config?: ImageConfig;
}

/** Writes the base layers and a layer with the programs. */
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

/** The recipe for the image of a Kubernetes component, from the programs in the folders of the build machine. */
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
