import { z } from 'zod';
import type { NodeSet } from '../cluster-spec.js';
import { refuse, type Refusal } from '../refusals.js';
import { nodeSetOf, type DeclaredPool, type DeclaredSpec } from './declared.js';
import { changesOf, differences, type MachineTemplate } from './machine.template.js';
import { rolloutLimits, rolloutOf } from './pool.rollout.js';

/** A node that a pool counts: not one that leaves, nor a surge node. */
export interface PoolMember {
  readonly name: string;
  readonly pool: string;
  /** Ready, and not lost. */
  readonly ready: boolean;
  /** What its machine was made like. */
  readonly machine: MachineTemplate;
}

export const PLAN_ACTIONS = [
  'create-cluster',
  'create-pool',
  'add-nodes',
  'remove-nodes',
  'replace-nodes',
  'delete-pool',
] as const;

/** One thing that is done for a change, and why. */
export const PlanStep = z
  .strictObject({
    action: z.enum(PLAN_ACTIONS),
    pool: z.string().nullable().describe('null: the cluster'),
    count: z.int().describe('How many machines are made, removed or replaced'),
    nodes: z
      .array(z.strictObject({ name: z.string(), reason: z.string() }))
      .describe('Those that are removed or replaced'),
    reason: z.string(),
  })
  .meta({ id: 'PlanStep', description: 'One thing that is done for a change of the spec, and why' });
export type PlanStep = z.infer<typeof PlanStep>;

type Victim = PlanStep['nodes'][number];

/** Nodes that are not Ready go first, then the newest. `members` are in the order in which they were planned. */
export const victimsOf = (members: readonly PoolMember[], count: number): readonly Victim[] => {
  const newest = members.toReversed();
  const unready = newest.filter(({ ready }) => !ready).map(({ name }) => ({ name, reason: 'not Ready' }));
  const others = newest.filter(({ ready }) => ready).map(({ name }) => ({ name, reason: 'among the newest' }));
  return [...unready, ...others].slice(0, count);
};

const machines = (count: number): string => `${count} machine${count === 1 ? '' : 's'}`;

const step = (
  action: PlanStep['action'],
  pool: string | null,
  {
    reason,
    count,
    nodes = [],
  }: { readonly reason: string; readonly count: number; readonly nodes?: readonly Victim[] },
): PlanStep => ({ action, pool, count, nodes: [...nodes], reason });

const scaled = (
  { name, replicas }: DeclaredPool,
  was: DeclaredPool | undefined,
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  const change = replicas - members.length;
  if (was === undefined) return [step('create-pool', name, { reason: `new: ${machines(change)}`, count: change })];
  const reason = `${was.replicas} → ${replicas}`;
  if (change > 0) return [step('add-nodes', name, { reason: `${reason}: ${machines(change)} more`, count: change })];
  if (change === 0) return [];
  const nodes = victimsOf(members, -change);
  return [step('remove-nodes', name, { reason: `${reason}: ${machines(-change)} less`, count: -change, nodes })];
};

const nodesOf = (count: number): string => `${count} node${count === 1 ? '' : 's'}`;

/** Nodes whose machines are not as the pool is declared, once its machines or its strategy change. */
const replaced = (
  pool: DeclaredPool,
  was: DeclaredPool | undefined,
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  if (was === undefined || !isChanged(was, pool)) return [];
  const outdated = members.flatMap(({ name, machine }) => {
    const differs = differences(machine, pool);
    return differs.length === 0 ? [] : [{ name, reason: differs.join(', ') }];
  });
  if (outdated.length === 0) return [];
  const rollout = rolloutOf(pool);
  const why = changesOf(was, pool);
  const what = why.length === 0 ? 'machines that differ' : why.join(', ');
  if (rollout.strategy === 'OnDelete') {
    const reason = `${what}: ${nodesOf(outdated.length)} stay until someone replaces or removes them (OnDelete)`;
    return [step('replace-nodes', pool.name, { reason, count: 0 })];
  }
  const { surge, unavailable } = rolloutLimits(rollout, pool.replicas);
  const reason = `${what}: ${nodesOf(outdated.length)} replaced, at most ${surge} extra and ${unavailable} unavailable`;
  return [step('replace-nodes', pool.name, { reason, count: outdated.length, nodes: outdated })];
};

const isChanged = (was: DeclaredPool, is: DeclaredPool): boolean =>
  changesOf(was, is).length > 0 || rolloutOf(was).strategy !== rolloutOf(is).strategy;

const deleted = ({ name }: DeclaredPool, members: readonly PoolMember[]): PlanStep => {
  const nodes = victimsOf(members, members.length).map((victim) => ({ ...victim, reason: `pool ${name} is deleted` }));
  return step('delete-pool', name, { reason: 'not in the manifest', count: members.length, nodes });
};

const created = ({ controlPlane, pools }: DeclaredSpec): readonly PlanStep[] => [
  step('create-cluster', null, {
    reason: `new: ${controlPlane.replicas} control plane${controlPlane.replicas === 1 ? '' : 's'}`,
    count: controlPlane.replicas,
  }),
  ...pools.flatMap((pool) => scaled(pool, undefined, [])),
];

/** What has to be done so that a cluster is as declared: the same for a dry run and for the change. `before` undefined: there is none. */
export const planOf = (
  before: DeclaredSpec | undefined,
  after: DeclaredSpec,
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  if (before === undefined) return created(after);
  const membersOf = ({ name }: DeclaredPool) => members.filter(({ pool }) => pool === name);
  const byName = (pools: readonly DeclaredPool[]) => new Map(pools.map((pool) => [pool.name, pool]));
  const [old, now] = [byName(before.pools), byName(after.pools)];
  return [
    ...before.pools.filter(({ name }) => !now.has(name)).map((pool) => deleted(pool, membersOf(pool))),
    ...after.pools.flatMap((pool) => changedPool(pool, old.get(pool.name), membersOf(pool))),
  ];
};

/** Nodes that are removed are not replaced. */
const changedPool = (
  pool: DeclaredPool,
  was: DeclaredPool | undefined,
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  const sized = scaled(pool, was, members);
  const leaving = new Set(sized.flatMap(({ nodes }) => nodes.map(({ name }) => name)));
  return [
    ...sized,
    ...replaced(
      pool,
      was,
      members.filter(({ name }) => !leaving.has(name)),
    ),
  ];
};

/** The machines that a plan asks for, pool by pool. */
export const additionsOf = (plan: readonly PlanStep[], { pools }: DeclaredSpec): readonly NodeSet[] =>
  plan.flatMap(({ action, pool: name, count }) => {
    const pool = pools.find((one) => one.name === name);
    return pool === undefined || count === 0 || (action !== 'add-nodes' && action !== 'create-pool')
      ? []
      : [nodeSetOf(pool, count)];
  });

/** The machines beyond their replicas that pools may have while a plan replaces their nodes. */
export const surgesOf = (plan: readonly PlanStep[], { pools }: DeclaredSpec): readonly NodeSet[] =>
  plan.flatMap(({ action, pool: name, count }) => {
    const pool = pools.find((one) => one.name === name);
    if (pool === undefined || action !== 'replace-nodes' || count === 0) return [];
    const { surge } = rolloutLimits(rolloutOf(pool), pool.replicas);
    return [nodeSetOf(pool, Math.min(surge, count))];
  });

/** The nodes that a plan removes, in order. */
export const removalsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ action, nodes }) => (action === 'replace-nodes' ? [] : nodes.map(({ name }) => name)));

/** The pools whose nodes a plan replaces now. */
export const rolloutsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ action, pool, count }) => (action === 'replace-nodes' && pool !== null && count > 0 ? [pool] : []));

type Read = (spec: DeclaredSpec) => unknown;

/** What a cluster is made with, and keeps. */
const IMMUTABLE: Readonly<Record<string, Read>> = {
  serviceType: ({ serviceType }) => serviceType,
  loadBalancer: ({ loadBalancer }) => loadBalancer,
  'network.podCidr': ({ network }) => network.podCidr,
  'network.serviceCidr': ({ network }) => network.serviceCidr,
  'network.dnsDomain': ({ network }) => network.dnsDomain,
  'network.cni': ({ network }) => network.cni,
  'storage.nfs.server': ({ storage }) => storage?.nfs.server,
  'storage.nfs.path': ({ storage }) => storage?.nfs.path,
  'controlPlane.connection': ({ controlPlane }) => controlPlane.connection,
  'controlPlane.machineType': ({ controlPlane }) => controlPlane.machineType,
  'controlPlane.rootDisk.type': ({ controlPlane }) => controlPlane.rootDisk.type,
  'controlPlane.rootDisk.size': ({ controlPlane }) => controlPlane.rootDisk.size,
  'controlPlane.etcd': ({ controlPlane }) => controlPlane.etcd,
  'controlPlane.schedulable': ({ controlPlane }) => controlPlane.schedulable,
};

const shown = (value: unknown): string => (value === undefined ? 'not set' : String(value));

/** Why a cluster cannot become what is declared, each with the field and what to do instead. */
export const changeFaults = (cluster: string, before: DeclaredSpec, after: DeclaredSpec): readonly Refusal[] => {
  const fields = Object.entries(IMMUTABLE).flatMap(([field, read]) => {
    const [was, is] = [shown(read(before)), shown(read(after))];
    return was === is ? [] : [refuse('cluster.field-immutable', { field, before: was, after: is }, `spec.${field}`)];
  });
  const versions = { cluster, before: before.version, after: after.version };
  const replicas = { before: before.controlPlane.replicas, after: after.controlPlane.replicas };
  return [
    ...fields,
    ...(versions.before === versions.after ? [] : [refuse('cluster.version-by-upgrade', versions, 'spec.version')]),
    ...(replicas.before === replicas.after
      ? []
      : [refuse('cluster.control-plane-replicas', replicas, 'spec.controlPlane.replicas')]),
  ];
};
