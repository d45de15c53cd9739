import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ON_CREATION_FAILURES } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { ClusterAt, ClusterRequest } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { integerBetween, kubernetesVersion, moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { describeAnswer, describedOf, objectsAnswer } from './cluster.describe.js';
import { addExtend } from './extend.commands.js';
import { silentServices } from './silent.services.js';
import { clusterAnswer, clustersAnswer } from './cluster.answers.js';
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
      'Create a cluster, from options, from a file (YAML or JSON, a ClusterRequest of docs/openapi.json), or from a file with some of it overridden. Without a file and counts: 3 control planes and 2 workers.',
    examples: [
      [
        'fairlead cluster create demo --connection lab --spec lab.medium --wait',
        'Three control planes and two workers, and watch',
      ],
      ['fairlead cluster create small --workers 0 --connection lab --spec lab.medium', 'One node that does everything'],
      ['fairlead cluster create -f cluster.yaml --wait --timeout 15m', 'What a file says'],
      [
        'fairlead cluster create demo --connection lab --spec lab.medium --on-failure cleanup',
        'If it fails, nothing is left but its history',
      ],
      ['sed s/demo/demo2/ cluster.yaml | fairlead cluster create -f -', 'From standard input'],
    ],
  })
    .option('-f, --file <file>', 'cluster request in YAML or JSON; - reads standard input')
    .option(
      '--control-planes <count>',
      'control planes: 1, 3, 5 or 7 (without workers: 1)',
      integerBetween(1, CONTROL_PLANES_MAX),
    )
    .option('--workers <count>', 'workers; 0 makes a cluster of a single node', integerBetween(0, WORKERS_MAX))
    .option('--connection <name>', 'where the machines come from')
    .option('--spec <name>', 'machine size, by the name of its provider')
    .option('--worker-spec <name>', 'machine size of the workers (default: --spec)')
    .option('--kubernetes-version <version>', "Kubernetes version (default: the server's)", kubernetesVersion)
    .option('--cni <name>', 'pod network: calico, flannel or cilium (service type single), canal or kilo (multi)')
    .option('--service-type <type>', 'single: all machines on one connection; multi: on several')
    .option('--etcd <kind>', 'local: kubeadm runs it; external: units beside it, with 3, 5 or 7 control planes')
    .option('--pod-cidr <cidr>', 'network of the pods')
    .option('--service-cidr <cidr>', 'network of the services')
    .option('--description <text>', 'what it is for')
    .addOption(
      new Option(
        '--on-failure <what>',
        'if the creation fails: keep everything for a retry, or delete everything that was created (default: keep)',
      ).choices(ON_CREATION_FAILURES),
    )
    .option('--idempotency-key <key>', 'asking again with the same key asks for the same cluster (default: generated)');
  addWaitOptions(command).action(runs(io, create));
};

const create = async (session: Session, name: string | undefined, options: CreateOptions): Promise<Answer> => {
  checkWaitOptions(options);
  const document = options.file === undefined ? undefined : await readDocument(options.file, session.io);
  const request = clusterRequest(name, document, options);
  const { seq, cluster } = await session.api.createCluster(
    session.namespace,
    request,
    options.idempotencyKey ?? randomUUID(),
  );
  const at = clusterAt(session, cluster.name);
  const followed = await waitFor(session, at, { seq, what: `the cluster ${cluster.name}` }, options);
  if (followed === undefined) {
    session.io.err(
      `The cluster ${cluster.name} is being made; watch it with "fairlead events ${cluster.name} --follow".\n`,
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
    summary: 'Show one cluster',
    examples: [
      ['fairlead cluster get demo', 'One line'],
      ['fairlead cluster get demo --output json', 'Everything that the server knows of it'],
    ],
  }).action(
    runs(io, async (session, name: string) =>
      clusterAnswer(await session.api.cluster(clusterAt(session, name)), io.now()),
    ),
  );
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the clusters of a namespace',
    examples: [
      ['fairlead cluster list', 'Those of the namespace default'],
      ['fairlead cluster list -n team-a --output name', 'Only the names of those of team-a'],
    ],
  })
    .alias('ls')
    .action(runs(io, async (session) => clustersAnswer(await session.api.clusters(session.namespace), io.now())));
};

interface DescribeFlags {
  readonly all?: true;
  readonly objects?: true;
  readonly at?: number | string;
}

const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <cluster>',
    summary: 'Show a cluster as a tree: steps, durations, failures, objects',
    description:
      'Show a cluster as a tree. What is done, and nodes that are equal, are one line each; what runs or fails is open. It also works for a cluster that is gone, until another one takes its name.',
    examples: [
      ['fairlead cluster describe demo', 'What matters now'],
      ['fairlead cluster describe demo --all', 'Every operation, every step and every node'],
      ['fairlead cluster describe demo --objects', 'Conditions, pools and nodes, equal ones in one line'],
      ['fairlead cluster describe demo --at 2026-11-21T08:00:00Z', 'What they were then, by the log'],
      ['fairlead cluster describe demo --at 4711', 'What they were after the event with this sequence'],
    ],
  })
    .option('--all', 'open everything, earlier operations too')
    .option('--objects', 'its conditions, pools and nodes instead of its operations')
    .option('--at <moment>', 'its objects as they were at this sequence of the log, or at this time', moment)
    .action(
      runs(io, async (session, name: string, { all, objects, at: then }: DescribeFlags) => {
        const at = clusterAt(session, name);
        const options = {
          all: all === true,
          nowMs: io.now(),
          columns: io.isLive ? io.columns() : Number.POSITIVE_INFINITY,
          colors: io.colors,
        };
        if (then !== undefined) return objectsAnswer(await session.api.clusterAsOf(at, then), options);
        if (objects === true) return objectsAnswer(await session.api.cluster(at), options);
        for (const sentence of await silentServices(session.api)) io.err(`${sentence}\n`);
        return describeAnswer(await describedOf(session.api, at), options);
      }),
    );
};

const addRetry = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'retry <cluster>',
    summary: 'Retry what failed',
    description:
      'Retry a failed cluster from the step that failed. For a Provisioned cluster: retry the nodes of a request that failed and was kept, removals of nodes, and deletions of machines.',
    examples: [['fairlead cluster retry demo --wait', 'Try again, and watch']],
  });
  addWaitOptions(command).action(
    runs(io, async (session, name: string, options: WaitOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const { seq } = await session.api.retryCluster(at);
      const followed = await waitFor(session, at, { seq, what: `the cluster ${name}` }, options);
      return clusterAnswer(await session.api.cluster(at, followed?.seq ?? seq), io.now());
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <cluster>',
    summary: 'Delete a cluster and everything that was created for it',
    description:
      'Delete a cluster with its machines, load balancers and volumes, at any moment of its life. Volumes whose reclaim policy is Retain stay, and so does its history.',
    examples: [
      ['fairlead cluster delete demo --wait', 'Type its name, and watch until nothing is left'],
      ['fairlead cluster delete demo --yes', 'Without being asked'],
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
  const words = followed === undefined ? 'is being deleted' : 'is deleted; nothing of it is left but its history';
  return { data: { name, deleted: followed !== undefined }, table: `The cluster ${name} ${words}.`, names: [name] };
};
