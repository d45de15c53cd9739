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
import { changesOf, differences } from './machine.template.js';
import type { Declared } from './manifest.fold.js';
import { nodeMetadata } from './pool.fields.js';
import { rolloutLimits, rolloutOf } from './pool.rollout.js';
import { victimsOf, type PoolMember, type Victim } from './victims.js';

export const PLAN_ACTIONS = [
  'create-cluster',
  'create-pool',
  'abandon-nodes',
  'add-nodes',
  'remove-nodes',
  'replace-nodes',
  'label-nodes',
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
    request: z.string().optional().describe('The request for nodes that is abandoned'),
  })
  .meta({ id: 'PlanStep', description: 'One thing that is done for a change of the spec, and why' });
export type PlanStep = z.infer<typeof PlanStep>;

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

/** What a plan starts from, besides the spec. */
export interface PlanBasis {
  readonly members: readonly PoolMember[];
  /** Requests for nodes that are not planned yet: `Declared.requests`. */
  readonly requests?: Declared['requests'];
  /** Nodes that are removed before others, whatever the delete policy is. */
  readonly named?: readonly string[];
}

interface Scaling {
  readonly was: DeclaredPool | undefined;
  readonly members: readonly PoolMember[];
  /** Machines that were requested and have no name yet. */
  readonly awaited: number;
  readonly named: readonly string[];
}

const scaled = (
  { name, replicas, deletePolicy }: DeclaredPool,
  { was, members, awaited, named }: Scaling,
): readonly PlanStep[] => {
  const change = replicas - members.length - awaited;
  if (was === undefined) return [step('create-pool', name, { reason: `new: ${machines(change)}`, count: change })];
  const reason = `${was.replicas} → ${replicas}`;
  if (change > 0) return [step('add-nodes', name, { reason: `${reason}: ${machines(change)} more`, count: change })];
  if (change === 0) return [];
  const nodes = victimsOf(members, -change, { deletePolicy, named });
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
/** One by one, so that etcd keeps its quorum. */
const scaledControlPlane = (
  { replicas }: DeclaredSpec['controlPlane'],
  {
    was,
    members,
    awaited,
    named,
    isAbandoned,
  }: Omit<Scaling, 'was'> & { readonly was: DeclaredSpec['controlPlane']; readonly isAbandoned: boolean },
): readonly PlanStep[] => {
  if (was.replicas === replicas && !isAbandoned) return [];
  const change = replicas - members.length - awaited;
  const pool = CONTROL_PLANE_POOL;
  const reason = `${was.replicas} → ${replicas}`;
  if (change === 0) return [];
  if (change > 0)
    return [
      step('add-nodes', pool, { reason: `${reason}: ${machines(change)} more, joined one by one`, count: change }),
    ];
  const nodes = victimsOf(members, -change, { named });
  const less = `${reason}: ${machines(-change)} less, removed one by one`;
  return [step('remove-nodes', pool, { reason: less, count: -change, nodes })];
};

/** Nodes that exist change in place. */
const relabelled = (
  pool: DeclaredPool,
  was: DeclaredPool | undefined,
  members: readonly PoolMember[],
): readonly PlanStep[] => {
  if (was === undefined || members.length === 0) return [];
  if (JSON.stringify(nodeMetadata(was)) === JSON.stringify(nodeMetadata(pool))) return [];
  const reason = 'labels or taints of the pool change';
  return [step('label-nodes', pool.name, { reason, count: members.length })];
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
  ...pools.flatMap((pool) => scaled(pool, { was: undefined, members: [], awaited: 0, named: [] })),
];

type Requests = Declared['requests'];

const awaitedIn = (requests: Requests, pool: string): number =>
  Object.values(requests).reduce((sum, { awaited }) => sum + (awaited[pool] ?? 0), 0);

/** Machines without a name cannot be removed one by one: the requests that ask for too many are abandoned as a whole. */
const excessive = (requests: Requests, after: DeclaredSpec, members: readonly PoolMember[]): Requests => {
  const isExcessive = (pool: string): boolean => {
    const declared = pool === CONTROL_PLANE_POOL ? after.controlPlane : after.pools.find(({ name }) => name === pool);
    const replicas = declared?.replicas ?? 0;
    const { length } = members.filter((member) => member.pool === pool);
    return length + awaitedIn(requests, pool) > replicas;
  };
  return Object.fromEntries(
    Object.entries(requests).filter(([, { awaited }]) => Object.keys(awaited).some(isExcessive)),
  );
};

const abandoned = (requests: Requests): readonly PlanStep[] =>
  Object.entries(requests).flatMap(([request, { awaited }]) =>
    Object.entries(awaited).map(([pool, count]) => ({
      ...step('abandon-nodes', pool, { reason: `${machines(count)} of an earlier request, not planned yet`, count }),
      request,
    })),
  );

/** What has to be done so that a cluster is as declared: the same for a dry run and for the change. `before` undefined: there is none. */
export const planOf = (
  before: DeclaredSpec | undefined,
  after: DeclaredSpec,
  { members, requests = {}, named = [] }: PlanBasis,
): readonly PlanStep[] => {
  if (before === undefined) return created(after);
  const membersOf = ({ name }: DeclaredPool) => members.filter(({ pool }) => pool === name);
  const byName = (pools: readonly DeclaredPool[]) => new Map(pools.map((pool) => [pool.name, pool]));
  const [old, now] = [byName(before.pools), byName(after.pools)];
  const ended = excessive(requests, after, members);
  const kept = Object.fromEntries(Object.entries(requests).filter(([id]) => !(id in ended)));
  return [
    ...abandoned(ended),
    ...scaledControlPlane(after.controlPlane, {
      was: before.controlPlane,
      members: members.filter(({ pool }) => pool === CONTROL_PLANE_POOL),
      awaited: awaitedIn(kept, CONTROL_PLANE_POOL),
      isAbandoned: awaitedIn(ended, CONTROL_PLANE_POOL) > 0,
      named,
    }),
    ...before.pools.filter(({ name }) => !now.has(name)).map((pool) => deleted(pool, membersOf(pool))),
    ...after.pools.flatMap((pool) =>
      changedPool(pool, {
        was: old.get(pool.name),
        members: membersOf(pool),
        awaited: awaitedIn(kept, pool.name),
        named,
      }),
    ),
  ];
};

/** Nodes that are removed are not replaced. */
const changedPool = (pool: DeclaredPool, scaling: Scaling): readonly PlanStep[] => {
  const { was, members } = scaling;
  const sized = scaled(pool, scaling);
  const leaving = new Set(sized.flatMap(({ nodes }) => nodes.map(({ name }) => name)));
  const staying = members.filter(({ name }) => !leaving.has(name));
  return [...sized, ...replaced(pool, was, staying), ...relabelled(pool, was, members)];
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
/** The control planes that a plan adds; undefined: none. */
export const addedControlPlanes = (plan: readonly PlanStep[], { controlPlane }: DeclaredSpec): NodeSet | undefined => {
  const added = plan.find(({ action, pool }) => action === 'add-nodes' && pool === CONTROL_PLANE_POOL);
  return added === undefined ? undefined : controlPlaneSetOf(controlPlane, added.count);
};

/** The nodes that a plan removes, in order. */
export const removalsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ action, nodes }) => (action === 'replace-nodes' ? [] : nodes.map(({ name }) => name)));

/** The pools whose nodes a plan replaces now. */
export const rolloutsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ action, pool, count }) => (action === 'replace-nodes' && pool !== null && count > 0 ? [pool] : []));

/** The requests that a plan abandons. */
export const abandonedOf = (plan: readonly PlanStep[]): readonly string[] => [
  ...new Set(plan.flatMap(({ request }) => request ?? [])),
];

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
  ];
};
