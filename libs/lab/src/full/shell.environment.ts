import { symlinkSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ALWAYS_PRESENT } from '../commands/registry.js';
import { ROOT_VARIABLE } from './processes.js';

/** Where the machine's own everyday programs are. `sbin` is left out: nothing there belongs on a simulated host. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin'] as const;

/** Programs of the machine that must not be found on a simulated host: they would change or answer for the machine itself. */
const HIDDEN =
  /^(kube.*|containerd.*|ctr|crictl|runc|nerdctl|docker.*|podman.*|etcd.*|helm|apt.*|dpkg.*|systemd.*|systemctl|journalctl|loginctl|hostnamectl|timedatectl|localectl|busctl|machinectl|networkctl|resolvectl|nsenter|unshare|chroot|mount|umount|sudo.*|su|ssh.*|scp|sftp|passwd|chsh|chfn|node|npm|npx|nats.*|psql|pg_.*|umask)$/;

/**
 * A folder of links to the machine's everyday programs (sh, sed, awk, base64, flock ...), shared by all hosts of a lab. With it a host's
 * PATH needs no folder of the machine, so a program that is not installed on the host is not found there.
 */
export const linkTools = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const present = new Set(await readdir(folder));
  for (const source of SYSTEM_FOLDERS) {
    for (const name of await readdir(source)) {
      if (present.has(name) || HIDDEN.test(name) || ALWAYS_PRESENT.includes(name)) continue;
      present.add(name);
      symlinkSync(join(source, name), join(folder, name)); // A thousand of them: promises would cost more than the links.
    }
  }
};

/** The environment of everything that runs on a host. */
export const hostEnvironment = (root: string, tools: string): Record<string, string> => ({
  [ROOT_VARIABLE]: root,
  PATH: `${join(root, STAND_IN_FOLDER)}:${tools}`,
  HOME: join(root, 'root'),
  USER: 'root',
  LOGNAME: 'root',
  SHELL: '/bin/sh',
  LANG: 'C.UTF-8',
  TMPDIR: join(root, 'tmp'),
  FAIRLEAD_LAB: 'simulation',
});

export const STAND_IN_FOLDER = 'usr/lib/lab/bin';
