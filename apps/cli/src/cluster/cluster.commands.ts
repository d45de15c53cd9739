import type { Command } from 'commander';
import type { ClusterAt } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { commandAt, orContinues, stoppedWatching } from '../progress/stopped.watching.js';
import { objectsOf, describeAnswer, describedOf, objectsAnswer } from './cluster.describe.js';
import { addCreate } from './create.commands.js';
import { addExtend } from './extend.commands.js';
import { addList } from './list.commands.js';
import { addServices } from './services.commands.js';
import { silentServices } from './silent.services.js';
import { addWait } from './wait.commands.js';
import { isGone, watchCluster } from './watch.effects.js';
import { oneClusterAnswer } from './cluster.answers.js';
import { checkLadybug, LADYBUG_OPTION, withDocument, type LadybugOption } from './one.cluster.effects.js';
import { addPause, addResume, addRetryNetwork } from './pause.commands.js';

/** The `cluster` group, to which other files add their commands. */
export const addClusterCommands = (program: Command, io: Io): Command => {
  const cluster = addGroup(program, 'cluster', 'Create, watch and delete clusters').alias('clusters');
  addCreate(cluster, io);
  addGet(cluster, io);
  addList(cluster, io);
  addDescribe(cluster, io);
  addWait(cluster, io);
  addRetry(cluster, io);
  addPause(cluster, io);
  addResume(cluster, io);
  addExtend(cluster, io);
  addRetryNetwork(cluster, io);
  addServices(cluster, io);
  addDelete(cluster, io);
  return cluster;
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <cluster>',
    summary: 'Show one cluster, what it waits for, and what can be done',
    description:
      'Show one cluster, what it waits for, and what can be done. As YAML or JSON it is the manifest with the status, which "fairlead apply" accepts as it is.',
    examples: [
      ['fairlead cluster get demo', 'Print one line, and why it waits or has failed'],
      ['fairlead cluster get demo --output yaml', 'Print the manifest, with the status'],
      [
        'fairlead cluster get demo -o yaml | sed "s/replicas: 2/replicas: 3/" | fairlead apply -f - --yes',
        'Change and apply it',
      ],
      ['fairlead cluster get demo --ladybug -o json', 'Print the fields of CB-Ladybug'],
    ],
  })
    .option(...LADYBUG_OPTION)
    .action(
      runs(io, async (session, name: string, options: LadybugOption) => {
        checkLadybug(session, options);
        const cluster = await session.api.get('/ns/{namespace}/clusters/{cluster}', clusterAt(session, name));
        const answer = oneClusterAnswer(cluster, io.now());
        return options.ladybug === true ? answer : withDocument(session, cluster, answer);
      }),
    );
};

interface DescribeFlags {
  readonly all?: true;
  readonly objects?: true;
  readonly at?: number | string;
  readonly watch?: true;
}

const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <cluster>',
    summary: 'Show a cluster as a tree of operations, steps and failures',
    description:
      'Show a cluster as a tree of operations, steps and failures. Completed operations and equal nodes are shown as one line; operations that are in progress or failing are expanded. A deleted cluster can be shown until another one takes its name.',
    examples: [
      ['fairlead cluster describe demo', 'Show what is in progress or failing'],
      ['fairlead cluster describe demo --watch', 'Keep showing it until Ctrl-C, from any terminal'],
      ['fairlead cluster describe demo --all', 'Show every operation, step and node'],
      ['fairlead cluster describe demo --objects', 'Show conditions, pools, nodes and what belongs to them'],
      ['fairlead cluster describe demo --at 2026-11-21T08:00:00Z', 'Show them as of a time in the past'],
      ['fairlead cluster describe demo --at 4711', 'Show them as of an event'],
    ],
  })
    .option('-w, --watch', 'keep showing it until Ctrl-C; survives a restart of the gateway')
    .option('--all', 'show everything, including earlier operations')
    .option('--objects', 'show conditions, pools, nodes, load balancer, etcd, connections, template, add-ons and hooks')
    .option('--at <moment>', 'show the objects as of this sequence of the log, or this time', moment)
    .action(
      runs(io, async (session, name: string, { all, objects, at: then, watch }: DescribeFlags) => {
        const at = clusterAt(session, name);
        if (watch === true && (objects === true || then !== undefined))
          throw usageFailure('--watch excludes --objects and --at');
        const options = {
          all: all === true,
          nowMs: io.now(),
          columns: io.outColumns(),
          colors: io.colors,
        };
        if (objects === true || then !== undefined) {
          const [cluster, around] = await objectsOf(session.api, at, then);
          return objectsAnswer(cluster, { ...options, ...around });
        }
        for (const sentence of await silentServices(session.access)) io.err(`${sentence}\n`);
        if (watch === true) return watchUntilGone(session, at, options);
        return describeAnswer(await describedOf(session.api, at), options);
      }),
    );
};

/** Watches until Ctrl-C or until the cluster is deleted. */
const watchUntilGone = async (
  session: Session,
  at: ClusterAt,
  { all }: { readonly all: boolean },
): Promise<undefined> => {
  const stopped = {
    what: `what is in progress on ${at.cluster}`,
    help: `Watch it again with "${commandAt('cluster describe', at, '--watch')}".`,
  };
  const ended = await watchCluster(session.api, session.io, at, { until: isGone, all }).catch((error: unknown) => {
    throw orContinues(error, stopped);
  });
  if (ended.end !== 'reached') throw stoppedWatching(ended.end, stopped);
  return undefined;
};

const addRetry = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'retry <cluster>',
    summary: 'Retry what failed',
    description:
      'Retry a failed cluster from the step that failed. For a Provisioned cluster, retry failed requests for nodes that were kept, removals of nodes, and deletions of machines.',
    examples: [['fairlead cluster retry demo --wait', 'Retry, and wait until it is done']],
  });
  addWaitOptions(command).action(
    runs(io, async (session, name: string, options: WaitOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const { seq } = await session.api.post('/ns/{namespace}/clusters/{cluster}/retry', at);
      const followed = await waitFor(session, at, { seq, what: `the retry of ${name}` }, options);
      return withDocument(
        session,
        await session.api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { minSeq: followed?.seq ?? seq } }),
      );
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <cluster>',
    summary: 'Delete a cluster and everything created for it',
    description:
      'Delete a cluster with its machines, load balancers and volumes, in any state. Volumes with the reclaim policy Retain are kept, and so is the history.',
    examples: [
      ['fairlead cluster delete demo --wait', 'Confirm with the name, and wait until everything is deleted'],
      ['fairlead cluster delete demo --yes', 'Skip the confirmation'],
    ],
  });
  addWaitOptions(addConfirmOption(command)).action(
    runs(io, (session, name: string, options: DeleteOptions) =>
      deleteCluster(session, clusterAt(session, name), options),
    ),
  );
};

export type DeleteOptions = WaitOptions & ConfirmOptions;

export const deleteCluster = async (
  session: Session,
  at: ClusterAt,
  options: DeleteOptions,
): Promise<CommandOutput> => {
  checkWaitOptions(options);
  const { cluster: name, namespace } = at;
  const what = `The cluster ${name} of namespace ${namespace} will be deleted with its machines, everything on them, and its volumes, except those with the reclaim policy Retain`;
  await confirm(session.io, { what, typed: name }, options);
  const { seq } = await session.api.delete('/ns/{namespace}/clusters/{cluster}', at);
  const followed = await waitFor(session, at, { seq, what: `the deletion of ${name}`, goal: 'deleted' }, options);
  const words = followed === undefined ? 'is being deleted' : 'is deleted; only its history is kept';
  return { data: { name, deleted: followed !== undefined }, table: `The cluster ${name} ${words}.`, names: [name] };
};
