import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import type { ClusterAt, Manifest, ManifestView, ScaleView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { CONFIRM_OPTION } from '../command/confirm.js';
import { collected, integerBetween, moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions } from '../command/waiting.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { DRY_RUN } from '../api/manifests.js';
import { carryOut, changeManifest, type Change, type ChangeOptions } from '../manifest/change.effects.js';
import { exported, type DeclaredPool } from '../document/manifest.document.js';
import { factLines, listed, type Fact } from '../output/facts.text.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { addBootstrapDataCommand } from './bootstrap.command.js';
import { addHoldCommands } from './hold.commands.js';
import { addPoolOptions, poolFieldsOf, REPLICAS_MAX, type PoolFlags } from './pool.options.js';

export const addPoolCommands = (program: Command, io: Io): void => {
  const pool = addGroup(program, 'pool', 'Create, scale, hold and delete pools of workers').alias('pools');
  addGet(pool, io);
  addDescribe(pool, io);
  addCreate(pool, io);
  addScale(pool, io);
  addDelete(pool, io);
  addBootstrapDataCommand(pool, io);
  addHoldCommands(pool, io);
};

type Pool = ManifestView['spec']['pools'][number];

/** Lists the existing pools. */
export const unknownPool = ({ cluster }: ClusterAt, name: string, known: readonly string[]): CliFailure =>
  new CliFailure('not-found', {
    code: 'pool.unknown',
    message: `The cluster ${cluster} has no pool ${name}`,
    help: known.length === 0 ? 'It has no pools.' : `Its pools: ${known.join(', ')}.`,
  });

const namesOf = ({ spec: { pools } }: ManifestView): readonly string[] => pools.map(({ name }) => name);

export const poolOf = (manifest: ManifestView, at: ClusterAt, name: string): Pool => {
  const found = manifest.spec.pools.find((pool) => pool.name === name);
  if (found === undefined) throw unknownPool(at, name, namesOf(manifest));
  return found;
};

type Status = NonNullable<ManifestView['status']>['pools'][number];

const statusOf = ({ status }: ManifestView, name: string): Status | undefined =>
  status?.pools.find((pool) => pool.name === name);

const poolsAnswer = (manifest: ManifestView, pools: readonly Pool[]): CommandOutput => ({
  data: pools.map((pool) => ({ ...pool, status: statusOf(manifest, pool.name) })),
  table: {
    columns: [
      ...['name', 'state', 'desired', 'ready', optional('available', 4), optional('up-to-date', 3)],
      ...[optional('min', 1), optional('max', 1), 'machine type', optional('connection', 2), prose('message')],
    ],
    rows: pools.map(({ name, replicas, connection, machineType, autoscaling, updatesDisabled }) => {
      const {
        readyReplicas = 0,
        availableReplicas = 0,
        updatedReplicas = 0,
        phase = '',
      } = statusOf(manifest, name) ?? {};
      const counts = [replicas, readyReplicas, availableReplicas, updatedReplicas].map(String);
      const bounds = [autoscaling?.min, autoscaling?.max].map((bound) => String(bound ?? ''));
      const held = updatesDisabled === true ? 'held' : '';
      return [name, phase, ...counts, ...bounds, machineType, connection, held];
    }),
    empty: 'The cluster has no pools.',
  },
  names: pools.map(({ name }) => name),
});

const taintText = ({ key, value = '', effect }: NonNullable<Pool['taints']>[number]): string =>
  `${key}${value === '' ? '' : `=${value}`}:${effect}`;

const rolloutText = ({ rollout }: Pool): string => {
  if (rollout === undefined) return 'default';
  const { strategy, maxSurge, maxUnavailable, canary } = rollout;
  return `${strategy}, surge ${maxSurge}, unavailable ${maxUnavailable}, ${canary ? 'one node first' : 'no canary'}`;
};

const healthText = ({ health }: Pool): string =>
  health === undefined ? 'none' : `${health.remediation} after ${health.unhealthyAfter}`;

/** Only for pools whose hosts join by themselves. */
const bootstrapFacts = ({ bootstrap }: Pool, status: Status | undefined): readonly Fact[] => {
  if (status?.bootstrapReady === undefined) return [];
  const source = bootstrap === undefined ? 'generated' : 'given';
  return [['bootstrap data', status.bootstrapReady ? `${source}, ready` : `${source}, not ready yet`]];
};

/** The properties and the state of a pool, one per line. */
const poolLines = (pool: Pool, status: Status | undefined, columns: number): readonly string[] => {
  const { replicas, connection, machineType, rootDisk, zones = [], labels = {}, taints = [], autoscaling } = pool;
  const { readyReplicas = 0, availableReplicas = 0, updatedReplicas = 0 } = status ?? {};
  const facts: readonly Fact[] = [
    ['state', status?.phase ?? 'not known'],
    [
      'replicas',
      `${replicas} desired, ${status?.replicas ?? 0} there, ${readyReplicas} ready, ${availableReplicas} available, ${updatedReplicas} up to date`,
    ],
    ['autoscaling', autoscaling === undefined ? 'none' : `${autoscaling.min} to ${autoscaling.max} nodes`],
    ['min ready', `${pool.minReadySeconds ?? 0} s`],
    ['connection', connection],
    ['machine type', machineType],
    ['image', pool.image ?? 'of the connection'],
    ['root disk', `${rootDisk.type}, ${rootDisk.size}`],
    ['zones', listed(zones, 'all of the connection')],
    [
      'labels',
      listed(
        Object.entries(labels).map(([key, value]) => `${key}=${value}`),
        'none',
      ),
    ],
    ['taints', listed(taints.map(taintText), 'none')],
    ['rollout', rolloutText(pool)],
    ['health check', healthText(pool)],
    ['delete policy', pool.deletePolicy ?? 'Newest'],
    ['updates', pool.updatesDisabled === true ? 'disabled' : 'enabled'],
    ...bootstrapFacts(pool, status),
  ];
  return factLines(facts, columns);
};

interface PastOptions {
  readonly at?: number | string;
}

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <cluster> [pool]',
    summary: 'Show the pools of a cluster, or one of them',
    examples: [
      ['fairlead pool list demo', 'List all pools'],
      ['fairlead pool list demo --at 2026-11-21T08:00:00Z', 'List them as of a time in the past'],
    ],
  })
    .aliases(['list', 'ls'])
    .option('--at <moment>', 'show them as of this sequence of the log, or this time', moment)
    .action(
      runs(io, async (session, cluster: string, name: string | undefined, options: PastOptions) => {
        const at = clusterAt(session, cluster);
        const asked = options.at === undefined ? {} : { query: { at: options.at } };
        const manifest = await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', at, asked);
        return poolsAnswer(manifest, name === undefined ? manifest.spec.pools : [poolOf(manifest, at, name)]);
      }),
    );
};

const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <cluster> <pool>',
    summary: 'Show a pool with its nodes',
    examples: [['fairlead pool describe demo web', 'Show the size, the machines and the nodes of a pool']],
  }).action(
    runs(io, async (session, cluster: string, name: string) => {
      const at = clusterAt(session, cluster);
      const manifest = await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
      const pool = poolOf(manifest, at, name);
      const nodes = (await session.api.list('/ns/{namespace}/clusters/{cluster}/nodes', at)).filter(
        (node) => node.pool === name,
      );
      return {
        data: { ...pool, status: statusOf(manifest, name), nodes },
        table: (columns) =>
          [
            `${name} of ${at.namespace}/${cluster}`,
            ...poolLines(pool, statusOf(manifest, name), columns),
            nodes.length === 0 ? '  no nodes' : '  nodes',
            ...nodes.map((node) => `    ${node.name}  ${node.phase}`),
          ].join('\n'),
        names: [name],
      };
    }),
  );
};

const changeOptions = (command: Command): Command =>
  addWaitOptions(command.option('--dry-run', 'show what would change, without changing anything')).option(
    '--idempotency-key <key>',
    'repeating the request with the same key has no further effect (default: generated)',
  );

/** The current manifest with other pools; refused if it changes in the meantime. */
const withPools = async (
  { api }: Session,
  at: ClusterAt,
  change: (pools: readonly DeclaredPool[], manifest: ManifestView) => readonly object[],
): Promise<Manifest> => {
  const current = await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
  const { metadata, spec, ...type } = exported(current);
  const { resourceVersion } = current.metadata;
  return { ...type, metadata: { ...metadata, resourceVersion }, spec: { ...spec, pools: change(spec.pools, current) } };
};

const addCreate = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'create <cluster> <pool>',
    summary: 'Add a pool to a cluster',
    description: 'Add a pool to a cluster. All fields of a pool can be declared in the manifest ("fairlead edit").',
    examples: [
      ['fairlead pool create demo web --replicas 2 --wait', "Create a pool with machines like the control plane's"],
      ['fairlead pool create demo gpu --replicas 0 --machine-type lab.large', 'Declare a pool without machines'],
      ['fairlead pool create demo batch --min 1 --max 5', 'Let the autoscaler choose between 1 and 5 nodes'],
      [
        'fairlead pool create demo db --label tier=db --taint dedicated=db:NoSchedule --zone lab-1a',
        'Set labels, taints and zones of the nodes',
      ],
      ['fairlead pool create demo api --remediation replace --unhealthy-after 5m', 'Add a health check'],
    ],
  });
  changeOptions(addPoolOptions(command)).action(
    runs(io, async (session, cluster: string, name: string, options: PoolFlags & ChangeOptions) => {
      const at = clusterAt(session, cluster);
      const manifest = await withPools(session, at, (pools, { spec: { controlPlane } }) => {
        const { connection, machineType } = controlPlane;
        return [...pools, { name, connection, machineType, ...poolFieldsOf(options) }];
      });
      return changeManifest(session, at, manifest, { ...options, yes: true });
    }),
  );
};

export interface ScaleOptions extends ChangeOptions {
  readonly replicas: number;
  readonly remove?: readonly string[];
}

/** The manifest with a new size of one pool, and its plan. */
const withScale = (manifest: ManifestView, name: string, { spec, plan, operations }: ScaleView): ManifestView => {
  const { controlPlane, pools } = manifest.spec;
  const { replicas } = spec;
  const sized =
    name === CONTROL_PLANE_POOL
      ? { controlPlane: { ...controlPlane, replicas } }
      : { pools: pools.map((pool) => (pool.name === name ? { ...pool, replicas } : pool)) };
  return {
    ...manifest,
    spec: { ...manifest.spec, ...sized },
    ...(plan === undefined ? {} : { plan }),
    ...(operations === undefined ? {} : { operations }),
  };
};

const SCALE = '/ns/{namespace}/clusters/{cluster}/pools/{pool}/scale';

/** Changes the size of a pool only. */
export const scaling = ({ api }: Session, at: ClusterAt, name: string, { replicas, remove }: ScaleOptions): Change => {
  const spec = { replicas, remove };
  const planOn = async (before: ManifestView) => {
    const { data: scale } = await api.put(
      SCALE,
      { ...at, pool: name },
      { body: { spec }, query: DRY_RUN, key: randomUUID() },
    );
    return { before, planned: withScale(before, name, scale) };
  };
  return {
    plan: async () => planOn(await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at)),
    asks: ({ planned }) => planned.plan?.some(({ action }) => action === 'remove-nodes') === true,
    send: async (before, key) => {
      if (before === undefined) throw unknownPool(at, name, []);
      const { resourceVersion } = before.metadata;
      const body = { spec, metadata: { resourceVersion } };
      const { seq, data } = await api.put(SCALE, { ...at, pool: name }, { body, key });
      return { seq, data: withScale(before, name, data) };
    },
  };
};

const addScale = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'scale <cluster> <pool>',
    summary: 'Change the size of a pool',
    description:
      'Change the number of nodes of a pool. On a scale-down, nodes given with --remove are removed first, then nodes that are not Ready, then the newest; this asks for confirmation. A pool with 0 replicas stays declared. The pool control-plane contains the control planes.',
    examples: [
      ['fairlead pool scale demo web --replicas 4 --wait', 'Scale to four nodes'],
      ['fairlead pool scale demo web --replicas 3 --remove demo-w-2-k3x9q', 'Scale down by removing a given node'],
    ],
  })
    .requiredOption('--replicas <count>', 'number of nodes', integerBetween(0, REPLICAS_MAX))
    .option('--remove <node>', 'node to remove (repeatable)', collected)
    .option(...CONFIRM_OPTION);
  changeOptions(command).action(
    runs(io, async (session, cluster: string, name: string, options: ScaleOptions) => {
      const at = clusterAt(session, cluster);
      return carryOut(session, at, scaling(session, at, name, options), options);
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <cluster> <pool>',
    summary: 'Delete a pool with its nodes',
    examples: [['fairlead pool delete demo web --yes --wait', 'Drain the nodes, and delete their machines']],
  }).option(...CONFIRM_OPTION);
  changeOptions(command).action(
    runs(io, async (session, cluster: string, name: string, options: ChangeOptions) => {
      const at = clusterAt(session, cluster);
      const manifest = await withPools(session, at, (pools, current) => {
        poolOf(current, at, name);
        return pools.filter((pool) => pool.name !== name);
      });
      return changeManifest(session, at, manifest, options);
    }),
  );
};
