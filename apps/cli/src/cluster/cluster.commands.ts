import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ON_CREATION_FAILURES } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { ClusterAt, ClusterRequest } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { withFormerOption } from '../command/former.js';
import { integerBetween, kubernetesVersion, moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { commandAt, orContinues, stoppedWatching } from '../progress/stopped.watching.js';
import { describeAnswer, describedOf, objectsAnswer } from './cluster.describe.js';
import { addExtend } from './extend.commands.js';
import { addList } from './list.commands.js';
import { silentServices } from './silent.services.js';
import { addWait } from './wait.commands.js';
import { isGone, watchCluster } from './watch.effects.js';
import { clusterAnswer, oneClusterAnswer } from './cluster.answers.js';
import { addPause, addResume, addRetryNetwork } from './pause.commands.js';
import { clusterRequest, parseClusterDocument, type ClusterFlags } from './cluster.request.js';

const CONTROL_PLANES_MAX = 7;
const WORKERS_MAX = 500;

export const addClusterCommands = (program: Command, io: Io): void => {
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
  addDelete(cluster, io);
};

type CreateOptions = ClusterFlags & WaitOptions & { readonly file?: string; readonly idempotencyKey?: string };

const addCreate = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'create [name]',
    summary: 'Create a cluster',
    description:
      'Create a cluster from options, from a file (YAML or JSON, a ClusterRequest of docs/openapi.json), or from a file with options that override it. The default is 3 control planes and 2 workers.',
    examples: [
      [
        'fairlead cluster create demo --connection lab --machine-type lab.medium --wait',
        'Create 3 control planes and 2 workers, and wait until the cluster is Ready',
      ],
      [
        'fairlead cluster create small --workers 0 --connection lab --machine-type lab.medium',
        'Create a single-node cluster',
      ],
      ['fairlead cluster create -f cluster.yaml --wait --timeout 15m', 'Read the request from a file'],
      [
        'fairlead cluster create demo --connection lab --machine-type lab.medium --on-failure cleanup',
        'Delete everything if the creation fails',
      ],
      ['sed s/demo/demo2/ cluster.yaml | fairlead cluster create -f -', 'Read from standard input'],
    ],
  })
    .option('-f, --file <file>', 'cluster request in YAML or JSON; - reads standard input')
    .option(
      '--control-planes <count>',
      'number of control planes: 1, 3, 5 or 7 (1 without workers)',
      integerBetween(1, CONTROL_PLANES_MAX),
    )
    .option('--workers <count>', 'number of workers; 0 creates a single-node cluster', integerBetween(0, WORKERS_MAX))
    .option('--connection <name>', 'connection that provides the machines')
    .option('--machine-type <name>', 'machine size, as the provider names it')
    .option('--worker-machine-type <name>', 'machine size of the workers (default: --machine-type)')
    .option('--kubernetes-version <version>', "Kubernetes version (default: the server's)", kubernetesVersion)
    .option('--cni <name>', 'pod network: calico, flannel or cilium (service type single), canal or kilo (multi)')
    .option(
      '--service-type <type>',
      'single: all machines on one connection; multi: on several (default: single, or multi with --cni canal or kilo)',
    )
    .option(
      '--etcd <kind>',
      'local: etcd in static pods; external: etcd in systemd units, with 3, 5 or 7 control planes',
    )
    .option('--pod-cidr <cidr>', 'pod network (CIDR)')
    .option('--service-cidr <cidr>', 'service network (CIDR)')
    .option('--description <text>', 'description of the cluster')
    .addOption(
      new Option(
        '--on-failure <what>',
        'if the creation fails, keep everything for a retry or delete everything (default: keep)',
      ).choices(ON_CREATION_FAILURES),
    )
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  withFormerOption(command, io, '--spec <name>', '--machine-type');
  withFormerOption(command, io, '--worker-spec <name>', '--worker-machine-type');
  addWaitOptions(command).action(runs(io, create));
};

const create = async (session: Session, name: string | undefined, options: CreateOptions): Promise<Answer> => {
  checkWaitOptions(options);
  const { file, connection, machineType } = options;
  if (file === undefined && (connection === undefined || machineType === undefined))
    throw usageFailure(
      'A cluster needs --connection and --machine-type, or a file',
      'List them with "fairlead connection list" and "fairlead connection specs <connection>".',
    );
  const document = file === undefined ? undefined : await readDocument(file, session.io);
  const request = clusterRequest(name, document, options);
  const { seq, cluster } = await session.api.createCluster(
    session.namespace,
    request,
    options.idempotencyKey ?? randomUUID(),
  );
  const at = clusterAt(session, cluster.name);
  const followed = await waitFor(session, at, { seq, what: `the creation of ${cluster.name}` }, options);
  if (followed === undefined) {
    session.io.err(
      `The cluster ${cluster.name} is being created. Watch it with "${commandAt('cluster describe', at, '--watch')}", or wait for it with "${commandAt('cluster wait', at)}".\n`,
    );
    return clusterAnswer(cluster, session.io.now());
  }
  return clusterAnswer(await session.api.cluster(at, followed.seq), session.io.now());
};

const readDocument = async (file: string, io: Io): Promise<ClusterRequest> => {
  if (file === '-') return parseClusterDocument(await io.readStdin(), 'Standard input');
  return parseClusterDocument(await textOf(resolve(io.cwd, file)), file);
};

const textOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw usageFailure(`${file} cannot be read: ${wordsOf(error)}`);
  }
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <cluster>',
    summary: 'Show one cluster, what it waits for, and what can be done',
    examples: [
      ['fairlead cluster get demo', 'Print one line, and why it waits or has failed'],
      ['fairlead cluster get demo --output json', 'Print all fields'],
    ],
  }).action(
    runs(io, async (session, name: string) =>
      oneClusterAnswer(await session.api.cluster(clusterAt(session, name)), io.now()),
    ),
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
      ['fairlead cluster describe demo --objects', 'Show conditions, pools and nodes, with equal ones grouped'],
      ['fairlead cluster describe demo --at 2026-11-21T08:00:00Z', 'Show them as of a time in the past'],
      ['fairlead cluster describe demo --at 4711', 'Show them as of an event'],
    ],
  })
    .option('-w, --watch', 'keep showing it until Ctrl-C; survives a restart of the gateway')
    .option('--all', 'show everything, including earlier operations')
    .option('--objects', 'show conditions, pools and nodes instead of operations')
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
        if (then !== undefined) return objectsAnswer(await session.api.clusterAsOf(at, then), options);
        if (objects === true) return objectsAnswer(await session.api.cluster(at), options);
        for (const sentence of await silentServices(session.api)) io.err(`${sentence}\n`);
        if (watch === true) return watchUntilGone(session, at, options);
        return describeAnswer(await describedOf(session.api, at), options);
      }),
    );
};

/** Until Ctrl-C, or until the cluster is deleted. */
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
      const { seq } = await session.api.retryCluster(at);
      const followed = await waitFor(session, at, { seq, what: `the retry of ${name}` }, options);
      return clusterAnswer(await session.api.cluster(at, followed?.seq ?? seq), io.now());
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

export const deleteCluster = async (session: Session, at: ClusterAt, options: DeleteOptions): Promise<Answer> => {
  checkWaitOptions(options);
  const { cluster: name, namespace } = at;
  const what = `The cluster ${name} of namespace ${namespace} will be deleted with its machines, everything on them, and its volumes, except those with the reclaim policy Retain`;
  await confirm(session.io, { what, typed: name }, options);
  const { seq } = await session.api.deleteCluster(at);
  const followed = await waitFor(session, at, { seq, what: `the deletion of ${name}` }, options);
  const words = followed === undefined ? 'is being deleted' : 'is deleted; only its history is kept';
  return { data: { name, deleted: followed !== undefined }, table: `The cluster ${name} ${words}.`, names: [name] };
};
