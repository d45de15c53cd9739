import { writeWhole } from '@fairlead/embedded/process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { clusterAt } from '../command/session.js';
import type { ClusterAt } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { durationBetween } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { FORMATS, type CommandOutput } from '../output/format.js';
import { mergeKubeconfig } from './kubeconfig.merge.js';

interface KubeconfigOptions {
  /** Milliseconds. */
  readonly ttl?: number;
  readonly administrator?: true;
  readonly oidc?: true;
  readonly out?: string;
  readonly merge?: true;
}

export const addKubeconfigCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'kubeconfig <cluster>',
    summary: 'Get a kubeconfig with a short-lived personal client certificate',
    description:
      'Get a kubeconfig with a client certificate that the cluster issues for your API token. The audit log of Kubernetes names you as fairlead:token:<id>, and the history of the cluster records each request.',
    shared: 'out-file',
    examples: [
      [
        'fairlead kubeconfig demo -o demo.yaml && kubectl --kubeconfig demo.yaml get nodes',
        'Write it to a file that only you can read',
      ],
      [
        'fairlead kubeconfig demo --merge',
        'Merge it into ~/.kube/config (or the first file of KUBECONFIG), as the current context',
      ],
      ['fairlead kubeconfig demo --ttl 30m -o demo.yaml', 'Get a certificate for half an hour'],
      ['fairlead kubeconfig demo --oidc -o demo.yaml', 'Get a kubeconfig for users, who sign in with their browser'],
    ],
  })
    .option('--ttl <duration>', 'lifetime of the certificate, 10m to 24h (default: 8h)', durationBetween('10m', '24h'))
    .option(
      '--administrator',
      "return the cluster's administrator kubeconfig, for clusters that sign no certificates; requires the role admin in all namespaces",
    )
    .option(
      '--oidc',
      'return a kubeconfig without secrets, for users who sign in at the identity provider of the manifest (requires kubelogin)',
    )
    .option('-o, --out <file>', 'write to this file with mode 0600 instead of standard output')
    .option('--merge', 'merge into that file, or into the kubeconfig that kubectl uses')
    .action(runs(io, kubeconfig));
};

const MS_PER_SECOND = 1_000;

const textOf = (
  { api }: Session,
  at: ClusterAt,
  { ttl, administrator, oidc }: Pick<KubeconfigOptions, 'ttl' | 'administrator' | 'oidc'>,
): Promise<string> => {
  if (oidc === true && (administrator === true || ttl !== undefined))
    throw usageFailure(
      `--oidc and ${administrator === true ? '--administrator' : '--ttl'} exclude each other`,
      'Users who sign in by OpenID Connect have no client certificate.',
    );
  if (oidc === true) return api.text('/ns/{namespace}/clusters/{cluster}/kubeconfig/oidc', at);
  if (administrator === true && ttl !== undefined)
    throw usageFailure(
      '--ttl and --administrator exclude each other',
      "The administrator's certificate is a fixed one.",
    );
  if (administrator === true) return api.text('/ns/{namespace}/clusters/{cluster}/kubeconfig/administrator', at);
  return api.text('/ns/{namespace}/clusters/{cluster}/kubeconfig', at, {
    query: { ttlSeconds: ttl === undefined ? undefined : Math.floor(ttl / MS_PER_SECOND) },
  });
};

const kubeconfig = async (
  session: Session,
  name: string,
  { out, merge, ...which }: KubeconfigOptions,
): Promise<CommandOutput> => {
  const { io } = session;
  refuseFormat(out);
  const at = clusterAt(session, name);
  const text = await textOf(session, at, which);
  if (merge !== true && out === undefined) return { data: { kubeconfig: text }, table: text, names: [name] };
  const file = out === undefined ? kubectlFile(io) : resolve(io.cwd, out);
  const context = `${at.namespace}-${at.cluster}`;
  writeWhole(
    file,
    merge === true ? mergeKubeconfig(existsSync(file) ? readFileSync(file, 'utf8') : '', text, context) : text,
  );
  const words = merge === true ? `Merged into ${file}; the current context is ${context}.` : `Wrote ${file}.`;
  return { data: { file, ...(merge === true ? { context } : {}) }, table: words, names: [file] };
};

/** Users of kubectl expect `-o yaml` to select a format; a file with that name is unlikely. */
const refuseFormat = (out: string | undefined): void => {
  if (!FORMATS.some((format) => format === out)) return;
  throw usageFailure(
    `-o names a file here, and ${out} is an output format`,
    `Leave it out to print the kubeconfig as YAML, or give -o ./${out} for a file of that name.`,
  );
};

/** The file that kubectl writes: the first one in KUBECONFIG, otherwise ~/.kube/config. */
const kubectlFile = ({ env, cwd }: Io): string => {
  const [first] = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (first !== undefined) return resolve(cwd, first);
  const home = env['HOME'] ?? homedir();
  if (home === '') throw usageFailure('There is no home folder to merge into', 'Name the file with -o.');
  return join(home, '.kube', 'config');
};
