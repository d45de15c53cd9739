import { createHash } from 'node:crypto';
import { DATABASE, RESTORE_RECORD } from '../clusters/static.pods.js';
import type { HostFiles } from '../files/host.files.js';
import { parseArguments, type ParsedArguments } from '../arguments/arguments.js';
import { CommandFault, type Command } from './command.js';

const SHA256_BYTES = 32;
const PRIVATE = 0o600;
const WITH_VALUE = [
  '-w',
  '--name',
  '--initial-cluster',
  '--initial-cluster-token',
  '--initial-advertise-peer-urls',
  '--data-dir',
  '--bump-revision',
];

const HELP = `Restores an etcd member snapshot to an etcd directory (simulated by Fairlead lab)

Usage:
  etcdutl snapshot restore <filename> --data-dir {output dir} [options] [flags]

Flags:
      --bump-revision uint                   How much to increase the latest revision after restore
      --data-dir string                      Path to the output data directory
      --initial-advertise-peer-urls string   List of this member's peer URLs to advertise to the rest of the cluster
      --initial-cluster string               Initial cluster configuration for restore bootstrap
      --initial-cluster-token string         Initial cluster token for the etcd cluster during restore bootstrap
      --mark-compacted                       Mark the latest revision after restore as the point of scheduled compaction
      --name string                          Human-readable name for this member`;

/** etcdutl of a control plane, as called from its host's shell: `version`, `snapshot status` and `snapshot restore`. */
export const etcdutl: Command = async ({ host, args, cwd, out, err }) => {
  const parsed = parseArguments(args, WITH_VALUE);
  const [subject, verb] = parsed.positional;
  if (subject === 'version') {
    out('etcdutl version: 3.6.8\nAPI version: 3.6 (simulated by Fairlead lab)');
    return 0;
  }
  const path = parsed.positional[2] ?? '';
  const file = path.startsWith('/') ? path : `${cwd}/${path}`;
  if (subject === 'snapshot' && verb === 'status') {
    out(await statusOf(host.files, file));
    return 0;
  }
  if (subject !== 'snapshot' || verb !== 'restore')
    throw new CommandFault(`Error: etcdutl ${args.join(' ')} is not simulated by Fairlead lab`);
  if (parsed.has('--help', '-h')) {
    out(HELP);
    return 0;
  }
  const given = required(parsed, '--data-dir');
  const folder = given.startsWith('/') ? given : `${cwd}/${given}`;
  await restore(host.files, parsed, { file, folder });
  err(`info\trestored snapshot\t{"data-dir": "${folder}"}`);
  return 0;
};

const required = (parsed: ParsedArguments, name: string): string => {
  const value = parsed.value(name);
  if (value === undefined || value === '') throw new CommandFault(`Error: ${name} is required by Fairlead lab`);
  return value;
};

/** Like the real one, reads the database without verifying its checksum. */
const statusOf = async (files: HostFiles, path: string): Promise<string> => {
  const bytes = await bytesOf(files, path);
  try {
    const { revision, keys } = JSON.parse(bytes.subarray(0, -SHA256_BYTES).toString('utf8')) as Saved;
    return JSON.stringify({ hash: bytes.readUInt32LE(0), revision, totalKey: keys, totalSize: bytes.length });
  } catch {
    throw new CommandFault('Error: invalid database');
  }
};

interface Saved {
  readonly revision: number;
  readonly keys: number;
}

interface Paths {
  readonly file: string;
  readonly folder: string;
}

const restore = async (files: HostFiles, parsed: ParsedArguments, { file, folder }: Paths): Promise<void> => {
  const name = required(parsed, '--name');
  const token = required(parsed, '--initial-cluster-token');
  const peer = required(parsed, '--initial-advertise-peer-urls');
  const members = required(parsed, '--initial-cluster').split(',');
  if (!members.includes(`${name}=${peer}`))
    throw new CommandFault(`Error: couldn't find local name "${name}" in the initial cluster configuration`);
  if ((await files.exists(folder)) && (await files.list(folder)).length > 0)
    throw new CommandFault(`Error: data-dir "${folder}" not empty or could not be read`);
  const body = await checkedBody(files, file);
  const { revision } = JSON.parse(body) as { readonly revision: number };
  const ahead = Number(parsed.value('--bump-revision') ?? 0);
  if (ahead > 0 && !parsed.has('--mark-compacted'))
    throw new CommandFault('Error: --mark-compacted required if --bump-revision');
  const initialCluster = Object.fromEntries(members.map((member) => member.split(/=(.*)/s).slice(0, 2)));
  await files.writeText(`${folder}/${DATABASE}`, body, PRIVATE);
  const record = JSON.stringify({ name, token, initialCluster, revision: revision + ahead });
  await files.writeText(`${folder}/${RESTORE_RECORD}`, record, PRIVATE);
};

/** A snapshot of the simulated etcd is JSON, followed by its SHA-256 as in a real snapshot. */
const checkedBody = async (files: HostFiles, path: string): Promise<string> => {
  const bytes = await bytesOf(files, path);
  const [body, expected] = [bytes.subarray(0, -SHA256_BYTES), bytes.subarray(-SHA256_BYTES)];
  const found = createHash('sha256').update(body).digest();
  if (!found.equals(expected))
    throw new CommandFault(`Error: expected sha256 [${expected.toString('hex')}], got [${found.toString('hex')}]`);
  return body.toString('utf8');
};

const bytesOf = async (files: HostFiles, path: string): Promise<Buffer> => {
  if (!(await files.exists(path))) throw new CommandFault(`Error: open ${path}: no such file or directory`);
  const file = await files.open(path, { read: true, write: false });
  try {
    const { size } = await file.stat();
    return Buffer.from(await file.read(0, size));
  } finally {
    await file.close();
  }
};
