import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { clustersAnswer, clustersOfAll } from './cluster.answers.js';

interface ListOptions {
  readonly allNamespaces?: true;
}

export const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the clusters of a namespace, or of all',
    examples: [
      ['fairlead cluster list', 'List the clusters of the namespace default'],
      ['fairlead cluster list -n team-a --output name', 'Print the names of the clusters of team-a'],
      ['fairlead cluster list -A', 'List the clusters of all namespaces that your token can read'],
    ],
  })
    .alias('ls')
    .option('-A, --all-namespaces', 'list the clusters of all namespaces that your token can read')
    .action(runs(io, list));
};

const list = async (session: Session, { allNamespaces }: ListOptions): Promise<Answer> => {
  const { api, io, namespace, namespaceOption } = session;
  if (allNamespaces !== true) return clustersAnswer(await api.clusters(namespace), io.now());
  if (namespaceOption !== undefined) throw usageFailure('--all-namespaces and --namespace exclude each other');
  const clusters = [];
  for (const { name } of await api.namespaces()) clusters.push(...(await api.clusters(name)));
  return clustersOfAll(clusters, io.now());
};
