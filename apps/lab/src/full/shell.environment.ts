import { existsSync, symlinkSync, unlinkSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT_VARIABLE } from './processes.js';

/** Folders of common programs on the real machine. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin'] as const;

/**
 * Programs of the real machine that a simulated host may use: shells, and programs that only read and write the files
 * passed to them. Programs that change or describe the machine itself (clock, name, processes, network, services,
 * power) are stand-ins or missing.
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
 * Creates a folder of links to those programs, shared by all hosts of a lab. A host's PATH then contains no folder of
 * the machine, so programs that are not installed on the host are not found.
 */
export const linkTools = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  const present = await readdir(folder);
  // An earlier lab may have created other links.
  for (const name of present) if (!TOOLS.includes(name)) unlinkSync(join(folder, name));
  for (const name of TOOLS) {
    if (present.includes(name)) continue;
    const source = SYSTEM_FOLDERS.map((each) => join(each, name)).find((file) => existsSync(file));
    if (source !== undefined) symlinkSync(source, join(folder, name));
  }
};

/** The environment of every process on a host. */
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
