import { aptCache, aptGet, aptMark, dpkg, dpkgQuery } from '../commands/apt.commands.js';
import type { Command } from '../commands/command.js';
import { etcdctl } from '../commands/etcdctl.command.js';
import { etcd } from '../commands/scratch.etcd.js';
import { etcdutl } from '../commands/etcdutl.command.js';
import { checkedConfiguration } from '../commands/balancer.commands.js';
import { connect } from '../commands/connect.command.js';
import { containerd, crictl, ctr, kubectl, kubelet } from '../commands/container.commands.js';
import { kubeadm } from '../kubeadm/kubeadm.command.js';
import { packageNamed } from '../commands/packages.js';
import { dpkgDeb, labProgram } from '../commands/unpacked.commands.js';
import { journalctl, systemctl } from '../commands/systemctl.commands.js';
import * as system from '../commands/system.commands.js';

/** Programs of packages. */
const PACKAGED: Readonly<Record<string, Command>> = {
  kubeadm,
  kubelet,
  kubectl,
  containerd,
  ctr,
  crictl,
  runc: system.nothingToDo,
  haproxy: checkedConfiguration,
  keepalived: checkedConfiguration,
};

/** Programs on every host. */
const ALWAYS: Readonly<Record<string, Command>> = {
  'apt-get': aptGet,
  apt: aptGet,
  'apt-mark': aptMark,
  'apt-cache': aptCache,
  'dpkg-query': dpkgQuery,
  dpkg,
  'dpkg-deb': dpkgDeb,
  'lab-program': labProgram(PACKAGED),
  'lab-connect': connect,
  systemctl,
  journalctl,
  etcdutl,
  sysctl: system.sysctl,
  swapoff: system.swapoff,
  swapon: system.swapon,
  modprobe: system.modprobe,
  lsmod: system.lsmod,
  hostname: system.hostname,
  hostnamectl: system.hostnamectl,
  timedatectl: system.timedatectl,
  uname: system.uname,
  date: system.date,
  id: system.id,
  getent: system.getent,
  whoami: system.whoami,
  reboot: system.reboot,
  shutdown: system.shutdown,
  poweroff: system.poweroff,
  halt: system.poweroff,
  ip: system.ip,
  ss: system.ss,
  mount: system.mount,
  nproc: system.nproc,
  pkill: system.pkill,
  killall: system.pkill,
  pgrep: system.pgrep,
  pidof: system.pgrep,
  free: system.free,
  uptime: system.uptime,
  'systemd-detect-virt': system.systemdDetectVirt,
  umount: system.nothingToDo,
  chown: system.nothingToDo,
  chgrp: system.nothingToDo,
  iptables: system.nothingToDo,
  // The lab filters no packets: rules are loaded, tried and confirmed without effect.
  nft: system.nothingToDo,
  'systemd-run': system.nothingToDo,
  sshd: system.sshd,
  ldconfig: system.nothingToDo,
  udevadm: system.nothingToDo,
};

/** Programs copied out of an image and called by their path. */
const COPIED: Readonly<Record<string, Command>> = { etcd, etcdctl, etcdutl };

export const ALWAYS_PRESENT: readonly string[] = Object.keys(ALWAYS);

/** The programs of the installed packages. */
export const programsOf = (packages: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(packages)
    .flatMap((name) => packageNamed(name)?.programs ?? [])
    .filter((program) => program in PACKAGED);

/** Returns the stand-in of that name, if the host has it. */
export const commandNamed = (name: string, packages: Readonly<Record<string, string>>): Command | undefined =>
  ALWAYS[name] ?? COPIED[name] ?? (programsOf(packages).includes(name) ? PACKAGED[name] : undefined);
