import { z } from 'zod';
import type { NodeSet } from '../cluster-spec.js';
import { refuse, type Refusal } from '../refusals.js';
import {
  CONTROL_PLANE_POOL,
  CONTROL_PLANES_MAX,
  controlPlaneSetOf,
  nodeSetOf,
  type DeclaredPool,
  type DeclaredSpec,
} from './declared.js';

/** A node that a pool counts: not one that leaves, nor a surge node. */
export interface PoolMember {
  readonly name: string;
  readonly pool: string;
  /** Ready, and not lost. */
  readonly ready: boolean;
}

export const PLAN_ACTIONS = ['create-cluster', 'create-pool', 'add-nodes', 'remove-nodes', 'delete-pool'] as const;

/** One thing that is done for a change, and why. */
export const PlanStep = z
  .strictObject({
    action: z.enum(PLAN_ACTIONS),
    pool: z.string().nullable().describe('null: the cluster'),
    count: z.int().describe('How many machines are made or removed'),
    nodes: z.array(z.strictObject({ name: z.string(), reason: z.string() })).describe('Those that are removed'),
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

/** One by one, so that etcd keeps its quorum. */
const scaledControlPlane = (
  { replicas: before }: DeclaredSpec['controlPlane'],
  { replicas: after }: DeclaredSpec['controlPlane'],
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  const change = after - members.length;
  if (before === after || change === 0) return [];
  const pool = CONTROL_PLANE_POOL;
  const reason = `${before} → ${after}`;
  if (change > 0)
    return [
      step('add-nodes', pool, { reason: `${reason}: ${machines(change)} more, joined one by one`, count: change }),
    ];
  const nodes = victimsOf(members, -change);
  const less = `${reason}: ${machines(-change)} less, removed one by one`;
  return [step('remove-nodes', pool, { reason: less, count: -change, nodes })];
};

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
  const controlPlanes = members.filter(({ pool }) => pool === CONTROL_PLANE_POOL);
  return [
    ...scaledControlPlane(before.controlPlane, after.controlPlane, controlPlanes),
    ...before.pools.filter(({ name }) => !now.has(name)).map((pool) => deleted(pool, membersOf(pool))),
    ...after.pools.flatMap((pool) => scaled(pool, old.get(pool.name), membersOf(pool))),
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

/** The control planes that a plan adds; undefined: none. */
export const addedControlPlanes = (plan: readonly PlanStep[], { controlPlane }: DeclaredSpec): NodeSet | undefined => {
  const added = plan.find(({ action, pool }) => action === 'add-nodes' && pool === CONTROL_PLANE_POOL);
  return added === undefined ? undefined : controlPlaneSetOf(controlPlane, added.count);
};

/** The nodes that a plan removes, in order. */
export const removalsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ nodes }) => nodes.map(({ name }) => name));

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

const IMMUTABLE_OF_POOL: Readonly<Record<string, (pool: DeclaredPool) => string>> = {
  connection: ({ connection }) => connection,
  machineType: ({ machineType }) => machineType,
  'rootDisk.type': ({ rootDisk }) => rootDisk.type,
  'rootDisk.size': ({ rootDisk }) => rootDisk.size,
};

const shown = (value: unknown): string => (value === undefined ? 'not set' : String(value));

const changedPool = (was: DeclaredPool, is: DeclaredPool, at: number): readonly Refusal[] =>
  Object.entries(IMMUTABLE_OF_POOL).flatMap(([name, read]) => {
    const [before, after] = [read(was), read(is)];
    if (before === after || was.replicas === 0) return [];
    return [refuse('pool.field-immutable', { field: name, pool: is.name, before, after }, `spec.pools[${at}].${name}`)];
  });

/** Why there cannot be as many control planes as declared. */
const controlPlaneFaults = (
  { controlPlane: was }: DeclaredSpec,
  { controlPlane: is }: DeclaredSpec,
): readonly Refusal[] => {
  const field = 'spec.controlPlane.replicas';
  const [before, after] = [was.replicas, is.replicas];
  if (before === after) return [];
  if (was.etcd === 'external') return [refuse('cluster.control-plane-replicas', { before, after }, field)];
  if (was.schedulable) return [refuse('cluster.single-node', {}, field)];
  if (after > CONTROL_PLANES_MAX) return [refuse('cluster.control-plane-too-many', { count: after }, field)];
  return after % 2 === 0 ? [refuse('cluster.control-plane-even', { count: after }, field)] : [];
};

/** Why a cluster cannot become what is declared, each with the field and what to do instead. */
export const changeFaults = (cluster: string, before: DeclaredSpec, after: DeclaredSpec): readonly Refusal[] => {
  const fields = Object.entries(IMMUTABLE).flatMap(([field, read]) => {
    const [was, is] = [shown(read(before)), shown(read(after))];
    return was === is ? [] : [refuse('cluster.field-immutable', { field, before: was, after: is }, `spec.${field}`)];
  });
  const versions = { cluster, before: before.version, after: after.version };
  return [
    ...fields,
    ...(versions.before === versions.after ? [] : [refuse('cluster.version-by-upgrade', versions, 'spec.version')]),
    ...controlPlaneFaults(before, after),
    ...after.pools.flatMap((pool, at) => {
      const was = before.pools.find(({ name }) => name === pool.name);
      return was === undefined ? [] : changedPool(was, pool, at);
    }),
  ];
};
