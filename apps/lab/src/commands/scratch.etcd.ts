import { parseArguments } from '../arguments/arguments.js';
import { DATABASE, RESTORE_RECORD } from '../clusters/static.pods.js';
import type { HostFiles } from '../files/host.files.js';
import type { Host } from '../hosts/host.js';
import { CommandFault, type Command, type CommandCall } from './command.js';

/** The contents of an etcd that was started from a restored data folder. */
export interface ScratchEtcd {
  readonly revision: number;
  readonly keys: number;
}

/** By client URL. */
const running = new WeakMap<Host, Map<string, ScratchEtcd>>();

export const scratchEtcdOf = (files: HostFiles, folder: string): Promise<ScratchEtcd> =>
  Promise.all([files.readText(`${folder}/${RESTORE_RECORD}`), files.readText(`${folder}/${DATABASE}`)]).then(
    ([record, database]) => {
      if (record === undefined || database === undefined)
        throw new CommandFault(`etcd: ${folder} was not restored: nothing else is started by hand in Fairlead lab`);
      const { revision } = JSON.parse(record) as { readonly revision: number };
      const { keys } = JSON.parse(database) as { readonly keys: number };
      return { revision, keys };
    },
  );

/** `etcd --data-dir=FOLDER --listen-client-urls=URL` run from a shell: it answers until it is stopped. */
export const etcd: Command = async ({ host, args, cwd, signal }) => {
  const parsed = parseArguments(args, []);
  const option = (name: string): string => parsed.value(name) ?? '';
  const folder = option('--data-dir');
  const found = await scratchEtcdOf(host.files, folder.startsWith('/') ? folder : `${cwd}/${folder}`);
  const url = option('--listen-client-urls');
  const ours = running.get(host) ?? new Map<string, ScratchEtcd>();
  running.set(host, ours.set(url, found));
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  ours.delete(url);
  return 0;
};

/** etcdctl with the endpoint of such an etcd; returns undefined for any other endpoint. */
export const scratchEtcdctl = ({ host, args, out }: CommandCall): number | undefined => {
  const endpoint = /^--endpoints=(http:.*)$/.exec(args.find((word) => word.startsWith('--endpoints=')) ?? '')?.[1];
  if (endpoint === undefined) return undefined;
  const found = running.get(host)?.get(endpoint);
  if (found === undefined) throw new CommandFault('Error: context deadline exceeded');
  const [subject, verb] = args.filter((word) => !word.startsWith('-'));
  if (subject === 'endpoint' && verb === 'health') out(`${endpoint} is healthy: successfully committed proposal`);
  else if (subject === 'endpoint' && verb === 'hashkv') out(`${endpoint}, ${found.keys}, ${found.revision}`);
  else if (subject === 'get' && args.includes('--count-only')) {
    out(`"ClusterID" : 1\n"MemberID" : 1\n"Revision" : ${found.revision}\n"RaftTerm" : 2\n"More" : false`);
    out(`"Count" : ${found.keys}`);
  } else throw new CommandFault(`Error: etcdctl ${args.join(' ')} is not simulated by Fairlead lab`);
  return 0;
};
