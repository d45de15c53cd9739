import { Option, type Command } from 'commander';
import type { ClusterAt } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { duration } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { orContinues, stoppedWatching, commandAt } from '../progress/stopped.watching.js';
import type { Described } from './cluster.describe.js';
import { withDocument } from './one.cluster.effects.js';
import { goal, goalWords, isHopeless, isReached, type Goal } from './wait.goal.js';
import { isKnown, watchCluster } from './watch.effects.js';

interface WaitFlags {
  readonly for: Goal;
  readonly timeout?: number;
}

export const addWait = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'wait <cluster>',
    summary: 'Wait until a cluster is Ready, deleted, or has a condition',
    description:
      'Show what is done with a cluster until it is Ready, deleted, or has a condition, whoever requested it. It can be started at any time and in any terminal, and survives a restart of the gateway. It ends with 1 if the creation has failed, and with 5 if the cluster is deleted while it is to be Ready.',
    examples: [
      ['fairlead cluster wait demo', 'Wait until demo is Ready, and nothing is in progress'],
      ['fairlead cluster wait demo --for deleted --timeout 10m', 'Wait for the end of its deletion'],
      ['fairlead cluster wait demo --for NodesReady', 'Wait for a condition; "describe --objects --all" lists them'],
      ['fairlead cluster wait demo --for HookBlocked=False', 'Wait until no hook holds it'],
    ],
  })
    .addOption(
      new Option('--for <what>', 'ready, deleted, or a condition: <type> or <type>=<status>')
        .argParser(goal)
        .default({ kind: 'ready' } satisfies Goal, 'ready'),
    )
    .option('--timeout <duration>', 'how long to wait, e.g. 10m (default: no limit)', duration)
    .action(runs(io, (session, name: string, flags: WaitFlags) => wait(session, clusterAt(session, name), flags)));
};

const wait = async (session: Session, at: ClusterAt, { for: of, timeout }: WaitFlags): Promise<CommandOutput> => {
  const { api, io } = session;
  if (of.kind === 'deleted' && !(await isKnown(api, at))) return neverAnswer(at);
  session.waitsForServer();
  const stopped = {
    what: `what is done with ${at.cluster}`,
    help: `Wait again with "${commandAt('cluster wait', at, ...goalOption(of))}", or watch it with "${commandAt('cluster describe', at, '--watch')}".`,
  };
  const ended = await watchCluster(api, io, at, {
    until: (described) => isReached(of, described) || isHopeless(of, described),
    all: false,
    timeoutMs: timeout,
  }).catch((error: unknown) => {
    throw orContinues(error, stopped);
  });
  if (ended.end !== 'reached') throw stoppedWatching(ended.end, stopped, timeout);
  if (!isReached(of, ended.view)) throw hopeless(at, of, ended.view);
  return ended.view.cluster === null ? deletedAnswer(at) : withDocument(session, ended.view.cluster);
};

const goalOption = (of: Goal): readonly string[] => (of.kind === 'ready' ? [] : ['--for', goalWords(of)]);

const deletedAnswer = ({ cluster: name }: ClusterAt): CommandOutput => ({
  data: { name, deleted: true },
  table: `The cluster ${name} is deleted.`,
  names: [name],
});

/** As with kubectl, what does not exist is deleted; that it never existed may be a typing error, and is said. */
const neverAnswer = ({ namespace, cluster: name }: ClusterAt): CommandOutput => ({
  ...deletedAnswer({ namespace, cluster: name }),
  data: { name, deleted: true, existed: false },
  table: `There is no cluster ${name} in the namespace ${namespace}, and there was none: nothing to wait for.`,
});

const hopeless = ({ cluster: name }: ClusterAt, of: Goal, { cluster, operations }: Described): CliFailure => {
  if (cluster === null)
    return new CliFailure('not-found', {
      code: 'cluster.unknown',
      message: `The cluster ${name} is deleted, and will not be ${goalWords(of)}`,
    });
  const { message, nextActions = [] } = operations.at(-1) ?? {};
  return new CliFailure('failed', {
    code: cluster.status.reason || 'cli.failed',
    message: `The cluster ${name} has failed: ${message || cluster.status.message}`,
    help: nextActions.join('\n  '),
  });
};
