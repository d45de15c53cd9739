import { randomUUID } from 'node:crypto';
import { ON_FAILURES, type OnFailure } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { ClusterAt, ManifestView } from '../api/views.js';
import { nodesAnswer } from '../cluster/cluster.answers.js';
import { addCommand, runs } from '../command/command.js';
import { withFormerOption } from '../command/former.js';
import { integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, waitForAll, type WaitOptions } from '../command/waiting.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { poolOf } from '../pool/pool.commands.js';
import { commandAt } from '../progress/stopped.watching.js';

const WORKERS_MAX = 500;

type AddOptions = WaitOptions & {
  readonly count: number;
  readonly pool?: string;
  readonly connection?: string;
  readonly machineType?: string;
  readonly idempotencyKey?: string;
  readonly onFailure?: OnFailure;
};

export const addAdd = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'add <cluster>',
    summary: 'Add workers to a cluster',
    description:
      'Add workers to a cluster: to the given pool, else to the first pool that has machines of the given type and connection, else to a new pool, which is named worker-<number>. Without any of these options, the first pool gets them.',
    examples: [
      ['fairlead node add demo --count 2 --wait', 'Add two workers to the first pool'],
      ['fairlead node add demo --pool web', 'Add a worker to the pool web'],
      ['fairlead node add demo --connection lab --machine-type lab.large', 'Add a worker of another size'],
      [
        'fairlead node add demo --connection lab --machine-type lab.large --on-failure keep',
        'Keep the machine for "fairlead cluster retry" if its node fails',
      ],
    ],
  })
    .option('--count <count>', 'number of workers', integerBetween(1, WORKERS_MAX), 1)
    .option('--pool <name>', 'pool that gets them')
    .option('--connection <name>', "connection that provides the machines (default: the first pool's)")
    .option('--machine-type <name>', "machine size (default: the first pool's)")
    .addOption(
      new Option(
        '--on-failure <what>',
        'for a new pool: what to do with its machines if the request fails (default: rollback)',
      ).choices(ON_FAILURES),
    )
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  withFormerOption(command, io, '--spec <name>', '--machine-type');
  addWaitOptions(command).action(
    runs(io, async (session, name: string, options: AddOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const manifest = await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
      const pool = poolMeant(manifest, at, options);
      return pool === undefined ? inNewPool(session, at, manifest, options) : inPool(session, at, pool, options);
    }),
  );
};

type Pool = ManifestView['spec']['pools'][number];

/** The pool for the workers; undefined if no pool has such machines. */
const poolMeant = (manifest: ManifestView, at: ClusterAt, options: AddOptions): Pool | undefined => {
  const { pool, connection, machineType } = options;
  if (pool !== undefined) {
    if (connection !== undefined || machineType !== undefined)
      throw usageFailure('--pool excludes --connection and --machine-type', 'The machines of a pool are alike.');
    return poolOf(manifest, at, pool);
  }
  const [model] = manifest.spec.pools;
  return manifest.spec.pools.find(
    (one) =>
      one.connection === (connection ?? model?.connection) && one.machineType === (machineType ?? model?.machineType),
  );
};

const wordsOf = (count: number): string => (count === 1 ? 'one more worker' : `${count} more workers`);

const inPool = async (session: Session, at: ClusterAt, pool: Pool, options: AddOptions): Promise<CommandOutput> => {
  const { count, onFailure, idempotencyKey } = options;
  const { api, io } = session;
  if (onFailure !== undefined)
    throw usageFailure(
      `--on-failure is for a new pool, and the pool ${pool.name} gets these workers`,
      `Leave it out, or create a pool with "${commandAt('pool create', at, '<name>')}".`,
    );
  // Relative to the declared size at the time of the decision; a repetition with the same key adds nothing.
  const { seq, data: scale } = await api.put(
    '/ns/{namespace}/clusters/{cluster}/pools/{pool}/scale',
    { ...at, pool: pool.name },
    { body: { spec: { add: count } }, key: idempotencyKey ?? randomUUID() },
  );
  io.err(`The pool ${pool.name} of ${at.cluster} gets ${wordsOf(count)}, and has ${scale.spec.replicas} then.\n`);
  const what = `adding ${wordsOf(count)} to ${at.cluster}`;
  const followed = await waitForAll(session, at, { seq, operations: scale.operations ?? [], what }, options);
  if (followed === undefined) io.err(`Watch it with "${commandAt('cluster describe', at, '--watch')}".\n`);
  return nodesAnswer(await api.list('/ns/{namespace}/clusters/{cluster}/nodes', at), io.now());
};

const inNewPool = async (
  session: Session,
  at: ClusterAt,
  { spec: { pools, controlPlane } }: ManifestView,
  { count, connection, machineType, onFailure, idempotencyKey, ...options }: AddOptions,
): Promise<CommandOutput> => {
  const { api, io } = session;
  const [model = controlPlane] = pools;
  const worker = [{ count, connection: connection ?? model.connection, spec: machineType ?? model.machineType }];
  const { seq } = await api.post('/ns/{namespace}/clusters/{cluster}/nodes', at, {
    body: { worker, onFailure },
    key: idempotencyKey ?? randomUUID(),
  });
  io.err(`A new pool of ${at.cluster} gets ${wordsOf(count)}: no pool has such machines.\n`);
  const what = `adding ${wordsOf(count)} to ${at.cluster}`;
  const followed = await waitFor(session, at, { seq, what }, options);
  if (followed === undefined) io.err(`Watch it with "${commandAt('cluster describe', at, '--watch')}".\n`);
  return nodesAnswer(await api.list('/ns/{namespace}/clusters/{cluster}/nodes', at), io.now());
};
