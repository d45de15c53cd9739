import type { Schemas } from '@fairlead/api-client';
import type { Accepted } from '../api/api.js';
import { putManifest } from '../api/manifests.js';
import { randomUUID } from 'node:crypto';
import { ON_CREATION_FAILURES } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { ClusterView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { withFormerOption } from '../command/former.js';
import { integerBetween, kubernetesVersion } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import { addressOf, isTemplate, refuseForeignNamespace, type ManifestDocument } from '../document/manifest.document.js';
import { readManifests, readText, titleOf } from '../document/manifest.files.store.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { commandAt } from '../progress/stopped.watching.js';
import { clusterAnswer } from './cluster.answers.js';
import { manifestWith } from './cluster.manifest.js';
import { clusterRequest, parseClusterDocument, type ClusterFlags } from './cluster.request.js';
import { withDocument, type LadybugOption } from './one.cluster.effects.js';

const CONTROL_PLANES_MAX = 7;
const WORKERS_MAX = 500;

type CreateOptions = ClusterFlags &
  WaitOptions &
  LadybugOption & { readonly file?: string; readonly idempotencyKey?: string };

export const addCreate = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'create [name]',
    summary: 'Create a cluster',
    description:
      'Create a cluster from options, from a manifest, or from a manifest with options that override it. The manifest is that of "fairlead init", "fairlead export" and "fairlead cluster get -o yaml". If the cluster exists, it is not changed; "fairlead apply" changes it. Without a file the default is 3 control planes and 2 workers.',
    examples: [
      [
        'fairlead cluster create demo --connection lab --machine-type lab.medium --wait',
        'Create 3 control planes and 2 workers, and wait until the cluster is Ready',
      ],
      [
        'fairlead cluster create small --workers 0 --connection lab --machine-type lab.medium',
        'Create a single-node cluster',
      ],
      ['fairlead cluster create -f cluster.yaml --wait --timeout 15m', 'Create the cluster of a manifest'],
      [
        'fairlead cluster create demo --connection lab --machine-type lab.medium --on-failure cleanup',
        'Delete everything if the creation fails',
      ],
      ['fairlead cluster get demo -o yaml | fairlead cluster create demo2 -f -', 'Create another one like demo'],
      ['fairlead cluster create --ladybug -f request.json', 'Create the cluster of a request for CB-Ladybug'],
    ],
  })
    .option('-f, --file <file>', 'manifest in YAML or JSON; - reads standard input')
    .option('--ladybug', 'the file is a ClusterRequest, as CB-Ladybug takes it, and so is the answer as JSON or YAML')
    .option(
      '--control-planes <count>',
      'number of control planes: 1, 3 or 5 (1 without workers); with an external etcd, 3, 5 or 7',
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

const create = async (session: Session, name: string | undefined, options: CreateOptions): Promise<CommandOutput> => {
  checkWaitOptions(options);
  const { seq, data: cluster } = await request(session, name, options);
  const at = { namespace: cluster.namespace, cluster: cluster.name };
  const followed = await waitFor(session, at, { seq, what: `the creation of ${cluster.name}` }, options);
  if (followed === undefined)
    session.io.err(
      `The cluster ${cluster.name} is being created. Watch it with "${commandAt('cluster describe', at, '--watch')}", or wait for it with "${commandAt('cluster wait', at)}".\n`,
    );
  const now =
    followed === undefined
      ? cluster
      : await session.api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { minSeq: followed.seq } });
  return options.ladybug === true ? clusterAnswer(now, session.io.now()) : withDocument(session, now);
};

const request = async (
  session: Session,
  name: string | undefined,
  options: CreateOptions,
): Promise<Accepted<ClusterView>> => {
  const { file, ladybug, connection, machineType } = options;
  const key = options.idempotencyKey ?? randomUUID();
  if (file !== undefined && ladybug !== true)
    return declare(session, manifestWith(await manifestOf(session, file, name), options), key);
  if (file === undefined && (connection === undefined || machineType === undefined))
    throw usageFailure(
      'A cluster needs --connection and --machine-type, or a file',
      'List them with "fairlead connection list" and "fairlead connection specs <connection>".',
    );
  const document =
    file === undefined ? undefined : parseClusterDocument(await readText(file, session.io), titleOf(file));
  return session.api.post(
    '/ns/{namespace}/clusters',
    { namespace: session.namespace },
    { body: clusterRequest(name, document, options) as Schemas['ClusterRequest'], key },
  );
};

const manifestOf = async (session: Session, file: string, name: string | undefined): Promise<ManifestDocument> => {
  const [first, ...others] = await readManifests({ file: [file] }, session.io);
  if (first === undefined || others.length > 0)
    throw usageFailure(
      `${titleOf(file)} holds ${others.length + 1} documents, and a creation takes one`,
      `Type "fairlead apply -f ${file}", which takes several.`,
    );
  if (isTemplate(first.manifest))
    throw usageFailure(`${titleOf(file)} holds a template, not a cluster`, `Type "fairlead apply -f ${file}".`);
  refuseForeignNamespace(first, session);
  return name === undefined ? first.manifest : { ...first.manifest, metadata: { ...first.manifest.metadata, name } };
};

/** The server refuses a manifest with this resource version if the cluster exists. */
const ONLY_IF_ABSENT = '';

/** Removes the uid of the source; the server assigns one to the new cluster. */
const asNew = (manifest: ManifestDocument): ManifestDocument => {
  const { uid: _uid, ...metadata } = manifest.metadata;
  return { ...manifest, metadata: { ...metadata, resourceVersion: ONLY_IF_ABSENT } };
};

/** The server's error names a field that the user did not set. */
const orExists = (error: unknown): unknown =>
  error instanceof CliFailure && error.code === 'cluster.name-taken'
    ? new CliFailure(error.exit, {
        ...{ code: error.code, message: error.message, cause: error },
        help: 'Choose another name, or change the cluster with "fairlead apply".',
      })
    : error;

const declare = async (session: Session, manifest: ManifestDocument, key: string): Promise<Accepted<ClusterView>> => {
  const at = addressOf(manifest, session);
  const sending = putManifest(session.api, at, asNew(manifest), { key });
  const { seq, data: declared } = await sending.catch((error: unknown) => {
    throw orExists(error);
  });
  for (const warning of declared.warnings ?? []) session.io.err(`Warning: ${warning}.\n`);
  return { seq, data: await session.api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { minSeq: seq } }) };
};
