import { existsSync, symlinkSync, unlinkSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT_VARIABLE } from './processes.js';

/** Where the machine's own everyday programs are. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin'] as const;

/**
 * What a simulated host may use of the machine: shells, and programs that read and write the files that they are given. Whatever would
 * change the machine or answer for it (its clock, name, processes, network, services, power) is a stand-in or is not there.
 */
const TOOLS = `
  sh bash dash
  awk gawk mawk sed grep egrep fgrep cat tac head tail cut tr sort uniq wc nl od paste join comm cmp diff tee xxd hexdump
  base32 base64 cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum
  basename chmod cp df du dirname file find install link ln ls mkdir mkfifo mktemp mv pwd readlink realpath rm rmdir stat touch truncate
  unlink xargs
  tar gzip gunzip zcat xz unxz xzcat bzip2 bunzip2 zstd
  [ echo env expr false getconf nice nohup printenv printf seq setsid sleep stdbuf sync test timeout true yes flock kill tty stty
  curl jq openssl
`
  .trim()
  .split(/\s+/);

/**
 * A folder of links to those programs, shared by all hosts of a lab. With it a host's PATH needs no folder of the machine, so a program
 * that is not installed on the host is not found there.
 */
export const linkTools = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const present = await readdir(folder);
  // An earlier lab may have linked others.
  for (const name of present) if (!TOOLS.includes(name)) unlinkSync(join(folder, name));
  for (const name of TOOLS) {
    if (present.includes(name)) continue;
    const source = SYSTEM_FOLDERS.map((each) => join(each, name)).find((file) => existsSync(file));
    if (source !== undefined) symlinkSync(source, join(folder, name));
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
