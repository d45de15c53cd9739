import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { moment } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { stoppedFollowing, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { tableText, type Table } from '../output/table.js';
import { clustersAnswer, clustersOfAll, pastClustersAnswer } from './cluster.answers.js';
import { checkLadybug, LADYBUG_OPTION, withDocuments, type LadybugOption } from './one.cluster.effects.js';

interface ListOptions extends LadybugOption {
  readonly allNamespaces?: true;
  readonly watch?: true;
  readonly at?: number | string;
}

export const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the clusters of a namespace, or of all',
    examples: [
      ['fairlead cluster list', 'List the clusters of the namespace default'],
      ['fairlead cluster list -n team-a --output name', 'Print the names of the clusters of team-a'],
      ['fairlead cluster list --watch', 'Keep printing them until Ctrl-C'],
      ['fairlead cluster list --at 2026-11-21T08:00:00Z', 'List them as of a time in the past'],
      ['fairlead cluster list -A', 'List the clusters of all namespaces that your token can read'],
    ],
  })
    .alias('ls')
    .option('-A, --all-namespaces', 'list the clusters of all namespaces that your token can read')
    .option('--at <moment>', 'list them as of this sequence of the log, or this time', moment)
    .option('-w, --watch', 'keep showing them until Ctrl-C')
    .option(...LADYBUG_OPTION)
    .action(runs(io, list));
};

const list = async (session: Session, options: ListOptions): Promise<CommandOutput> => {
  checkLadybug(session, options);
  if (options.at !== undefined) return listPast(session, options.at, options);
  if (options.watch === true) return watchList(session, options);
  const { clusters, answer } = await listed(session, options);
  return options.ladybug === true ? answer : withDocuments(session, clusters, answer);
};

/** Also those that are deleted since. */
const listPast = async (
  { api, namespace, namespaceOption }: Session,
  at: number | string,
  { allNamespaces, watch, ladybug }: ListOptions,
): Promise<CommandOutput> => {
  if (watch === true || ladybug === true) throw usageFailure('--at excludes --watch and --ladybug');
  const isAll = allNamespaces === true;
  checkNamespaces(isAll, namespaceOption);
  const query = { at, ...(isAll ? {} : { namespace }) };
  return pastClustersAnswer(await api.list('/fleet', {}, { query }), isAll);
};

const checkNamespaces = (isAll: boolean, option: string | undefined): void => {
  if (isAll && option !== undefined) throw usageFailure('--all-namespaces and --namespace exclude each other');
};

/** Polls every two seconds: there is no event stream for several clusters that every user may read. */
const watchList = async (session: Session, options: ListOptions): Promise<never> => {
  const { io } = session;
  const region = io.isLive ? io.openRegion() : undefined;
  let known: ReadonlySet<string> = new Set();
  try {
    for (;;) {
      const { answer } = await listed(session, options);
      const lines = tableText(answer.table, region === undefined ? io.outColumns() : io.errColumns()).split('\n');
      const fitting = lines.slice(0, Math.max(1, io.rows() - 1));
      if (region === undefined) for (const line of lines.filter((one) => !known.has(ageless(one)))) io.out(`${line}\n`);
      region?.draw(fitting);
      known = new Set(lines.map(ageless));
      await sleep(AGAIN_MS, undefined, { signal: io.interrupts.first }).catch(() => {
        throw stoppedFollowing();
      });
    }
  } finally {
    region?.close();
  }
};

const AGAIN_MS = 2_000;

/** A row in which only the age has changed is not printed again. */
const ageless = (line: string): string => line.replaceAll(/(?<!\s)\s+(\d+(\.\d+)?(d|h|m|s))+(?=\s)/g, ' ');

interface Listed {
  readonly clusters: readonly ClusterView[];
  readonly answer: CommandOutput & { readonly table: Table };
}

const listed = async (session: Session, { allNamespaces }: ListOptions): Promise<Listed> => {
  const { api, io, namespace, namespaceOption } = session;
  if (allNamespaces !== true) {
    const clusters = await api.list('/ns/{namespace}/clusters', { namespace });
    return { clusters, answer: clustersAnswer(clusters, io.now()) };
  }
  checkNamespaces(true, namespaceOption);
  const clusters: ClusterView[] = [];
  for (const { name } of await api.list('/ns'))
    clusters.push(...(await api.list('/ns/{namespace}/clusters', { namespace: name })));
  return { clusters, answer: clustersOfAll(clusters, io.now()) };
};
