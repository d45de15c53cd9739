import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { clusterAt } from '../cluster/cluster.commands.js';
import { addCommand, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { mergeKubeconfig } from './kubeconfig.merge.js';
import { writeKubeconfig } from './kubeconfig.store.js';

interface KubeconfigOptions {
  readonly out?: string;
  readonly merge?: true;
}

export const addKubeconfigCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'kubeconfig <cluster>',
    summary: "Get a cluster's administrator kubeconfig",
    description: "Get a cluster's administrator kubeconfig. Each reading is recorded in the cluster's history.",
    shared: 'out-file',
    examples: [
      [
        'fairlead kubeconfig demo -o demo.yaml && kubectl --kubeconfig demo.yaml get nodes',
        'Into a file that only you may read',
      ],
      [
        'fairlead kubeconfig demo --merge',
        'Into ~/.kube/config (or the first file of KUBECONFIG), as the current context',
      ],
    ],
  })
    .option('-o, --out <file>', 'write it there, with mode 0600, instead of standard output')
    .option('--merge', 'merge it into that file, or into the kubeconfig that kubectl uses')
    .action(runs(io, kubeconfig));
};

const kubeconfig = async (session: Session, name: string, { out, merge }: KubeconfigOptions): Promise<Answer> => {
  const { io } = session;
  const at = clusterAt(session, name);
  const text = await session.api.kubeconfig(at);
  if (merge !== true && out === undefined) return { data: { kubeconfig: text }, table: text, names: [name] };
  const file = out === undefined ? kubectlFile(io) : resolve(io.cwd, out);
  const context = `${at.namespace}-${at.cluster}`;
  writeKubeconfig(
    file,
    merge === true ? mergeKubeconfig(existsSync(file) ? readFileSync(file, 'utf8') : '', text, context) : text,
  );
  const words = merge === true ? `Merged into ${file}; the current context is ${context}.` : `Wrote ${file}.`;
  return { data: { file, ...(merge === true ? { context } : {}) }, table: words, names: [file] };
};

/** The file that kubectl writes to: the first of KUBECONFIG, else ~/.kube/config. */
const kubectlFile = ({ env, cwd }: Io): string => {
  const [first] = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (first !== undefined) return resolve(cwd, first);
  const home = env['HOME'] ?? homedir();
  if (home === '') throw usageFailure('There is no home folder to merge into', 'Name the file with -o.');
  return join(home, '.kube', 'config');
};
