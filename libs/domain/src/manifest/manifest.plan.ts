import {
  apiAccessOf,
  apiAccessText,
  type NodeSet,
  EXTERNAL_ETCD_COUNTS,
  refuse,
  type Refusal,
  CONTROL_PLANE_POOL,
  controlPlaneSetOf,
  nodeSetOf,
  type DeclaredPool,
  type DeclaredSpec,
  leaseChangeFaults,
  nodeMetadata,
  controlPlaneRolloutOf,
  controlPlaneSurge,
  isReplacedForVersions,
  REMOVE_FIRST_CONTROL_PLANES_MIN,
  rolloutLimits,
  rolloutOf,
  type PoolRollout,
  type KubernetesRelease,
  type PlanStep,
} from '@fairlead/contracts';
import { changesOf, differences, type MachineTemplate } from './machine.template.js';
import type { Declared } from './manifest.fold.js';
import { controlPlaneCountFaults } from './control-plane.rules.js';
import { versionPath } from '../version.path.js';
import { changedFields } from './manifest.diff.js';
import { victimsOf, type PoolMember, type Victim } from './victims.js';

/** Maximum number of fields named in a reason. */
const FIELDS_NAMED_MAX = 3;

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

/** The input of a plan besides the spec. */
export interface PlanBasis {
  readonly members: readonly PoolMember[];
  /** Unplanned requests for nodes: `Declared.requests`. */
  readonly requests?: Declared['requests'];
  /** Machines that are declared already, and asked for again by themselves (`missingIn`): no change asks for them. */
  readonly missing?: Readonly<Record<string, number>>;
  /** Nodes that are removed before others, whatever the delete policy is. */
  readonly named?: readonly string[];
  /** The releases that the installation offers; absent: the built-in ones. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
}

interface Scaling {
  readonly was: DeclaredPool | undefined;
  readonly members: readonly PoolMember[];
  /** Requested machines without a name. */
  readonly awaited: number;
  /** Machines that are asked for again by themselves. */
  readonly missing: number;
  readonly named: readonly string[];
}

/** How many machines to request; negative: to remove. What is missing is given up before any node. */
const changeOf = (
  replicas: number,
  { members, awaited, missing }: Pick<Scaling, 'members' | 'awaited' | 'missing'>,
): number => {
  const lacking = replicas - members.length - awaited;
  return lacking - Math.min(missing, Math.max(0, lacking));
};

const scaled = (
  { name, replicas, deletePolicy }: DeclaredPool,
  { was, named, ...now }: Scaling,
): readonly PlanStep[] => {
  const change = changeOf(replicas, now);
  if (was === undefined) return [step('create-pool', name, { reason: `create ${machines(change)}`, count: change })];
  const sizes = `(${was.replicas} → ${replicas})`;
  if (change > 0) return [step('add-nodes', name, { reason: `add ${machines(change)} ${sizes}`, count: change })];
  if (change === 0) return [];
  const nodes = victimsOf(now.members, -change, { deletePolicy, named });
  return [step('remove-nodes', name, { reason: `remove ${machines(-change)} ${sizes}`, count: -change, nodes })];
};

const nodesOf = (count: number): string => `${count} node${count === 1 ? '' : 's'}`;

type Template = MachineTemplate & { readonly rollout?: Pick<PoolRollout, 'strategy'> | undefined };

const isOnDelete = ({ rollout }: Template): boolean => rollout?.strategy === 'OnDelete';

const isChanged = (was: Template, is: Template): boolean =>
  changesOf(was, is).length > 0 || isOnDelete(was) !== isOnDelete(is);

/** The previous and current template of nodes that may have to be replaced. `pace`: how fast they are replaced. */
interface Replacing {
  readonly was: Template | undefined;
  readonly is: Template;
  readonly pace: string;
}

/** Nodes whose machines differ from their pool's declaration, if its machine template or strategy changes. */
const replaced = (pool: string, { was, is, pace }: Replacing, members: readonly PoolMember[]): readonly PlanStep[] => {
  if (was === undefined || !isChanged(was, is)) return [];
  const outdated = members.flatMap(({ name, machine }) => {
    const differs = differences(machine, is);
    return differs.length === 0 ? [] : [{ name, reason: differs.join(', ') }];
  });
  if (outdated.length === 0) return [];
  const why = changesOf(was, is);
  const what = why.length === 0 ? 'machines that differ' : why.join(', ');
  if (isOnDelete(is)) {
    const reason = `${what}: ${nodesOf(outdated.length)} stay until someone replaces or removes them (OnDelete)`;
    return [step('replace-nodes', pool, { reason, count: 0 })];
  }
  const reason = `${what}: ${nodesOf(outdated.length)} replaced, ${pace}`;
  return [step('replace-nodes', pool, { reason, count: outdated.length, nodes: outdated })];
};

const paceOf = (pool: DeclaredPool): string => {
  const rollout = rolloutOf(pool);
  const { surge, unavailable } = rolloutLimits(rollout, pool.replicas);
  const first = rollout.canary && surge + unavailable > 1 ? 'one first, alone, then ' : '';
  return `${first}at most ${surge} extra and ${unavailable} unavailable`;
};

interface ControlPlaneScaling extends Omit<Scaling, 'was'> {
  readonly was: DeclaredSpec['controlPlane'];
  /** The same plan abandons a request for control planes. */
  readonly isAbandoned: boolean;
}

/** One by one, so that etcd keeps its quorum. */
const scaledControlPlane = (
  { replicas }: DeclaredSpec['controlPlane'],
  { was, named, isAbandoned, ...now }: ControlPlaneScaling,
): readonly PlanStep[] => {
  if (was.replicas === replicas && !isAbandoned) return [];
  const change = changeOf(replicas, now);
  const pool = CONTROL_PLANE_POOL;
  const sizes = `(${was.replicas} → ${replicas})`;
  if (change === 0) return [];
  if (change > 0)
    return [step('add-nodes', pool, { reason: `add ${machines(change)} ${sizes}, joined one by one`, count: change })];
  const nodes = victimsOf(now.members, -change, { named });
  const reason = `remove ${machines(-change)} ${sizes}, one by one`;
  return [step('remove-nodes', pool, { reason, count: -change, nodes })];
};

/**
 * Control planes that are not Ready are replaced first, the initial one last: its role then passes to one that stays.
 */
const inTurn = (controlPlanes: readonly PoolMember[]): readonly PoolMember[] => {
  const rank = ({ ready, leader }: PoolMember): number => (ready ? 1 + Number(leader === true) : 0);
  return controlPlanes.toSorted((one, other) => rank(one) - rank(other));
};

/** Control planes that are removed are not replaced. */
const changedControlPlane = (is: DeclaredSpec['controlPlane'], scaling: ControlPlaneScaling): readonly PlanStep[] => {
  const sized = scaledControlPlane(is, scaling);
  const pace = `one at a time, the ${controlPlaneSurge(is) === 1 ? 'new' : 'old'} one first`;
  const staying = inTurn(stayingAfter(sized, scaling.members));
  return [...sized, ...replaced(CONTROL_PLANE_POOL, { was: scaling.was, is, pace }, staying)];
};

const stayingAfter = (steps: readonly PlanStep[], members: readonly PoolMember[]): readonly PoolMember[] => {
  const leaving = new Set(steps.flatMap(({ nodes }) => nodes.map(({ name }) => name)));
  return members.filter(({ name }) => !leaving.has(name));
};

/** Existing nodes are updated in place. */
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

const NETWORK_FIELD = /^(firewall|sshd)\./;
const AUTHENTICATION_FIELD = /^authentication\./;

/** The changed fields in short; undefined: none. */
const fieldsNamed = (before: DeclaredSpec, after: DeclaredSpec, isOne: RegExp): string | undefined => {
  const fields = changedFields(before, after).flatMap(({ field }) => (isOne.test(field) ? [field] : []));
  const others = fields.length - FIELDS_NAMED_MAX;
  return fields.length === 0
    ? undefined
    : `${fields.slice(0, FIELDS_NAMED_MAX).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
};

/**
 * Firewall and SSH server of existing nodes are updated in place; nodes that lose contact with Fairlead revert the
 * change.
 */
const networked = (before: DeclaredSpec, after: DeclaredSpec, count: number): readonly PlanStep[] => {
  const named = fieldsNamed(before, after, NETWORK_FIELD);
  if (named === undefined) return [];
  const [was, is] = [before, after].map(apiAccessIn);
  const access = was === is ? '' : `; ${is}`;
  return [step('configure-network', null, { reason: `${named}: ${nodesOf(count)}${access}`, count })];
};

const apiAccessIn = ({ firewall }: DeclaredSpec): string =>
  `the Kubernetes API is open to ${apiAccessText(apiAccessOf(firewall, undefined))}`;

/** API servers reload the file while running. */
const authenticated = (before: DeclaredSpec, after: DeclaredSpec, count: number): readonly PlanStep[] => {
  const named = fieldsNamed(before, after, AUTHENTICATION_FIELD);
  const reason = `${named}: ${count} control plane${count === 1 ? '' : 's'}, one at a time, without a restart`;
  return named === undefined ? [] : [step('configure-authentication', null, { reason, count })];
};

const deleted = ({ name }: DeclaredPool, members: readonly PoolMember[]): PlanStep => {
  const nodes = victimsOf(members, members.length).map((victim) => ({ ...victim, reason: `pool ${name} is deleted` }));
  return step('delete-pool', name, { reason: 'not in the manifest', count: members.length, nodes });
};

const created = (spec: DeclaredSpec): readonly PlanStep[] => [
  step('create-cluster', null, {
    reason: `create ${spec.controlPlane.replicas} control plane${spec.controlPlane.replicas === 1 ? '' : 's'}; ${apiAccessIn(spec)}`,
    count: spec.controlPlane.replicas,
  }),
  ...spec.pools.flatMap((pool) => scaled(pool, { was: undefined, members: [], awaited: 0, missing: 0, named: [] })),
];

type Requests = Declared['requests'];

const pendingMachines = (requests: Requests, pool: string): number =>
  Object.values(requests).reduce((sum, { awaited }) => sum + (awaited[pool] ?? 0), 0);

const declaredIn = ({ controlPlane, pools }: DeclaredSpec, pool: string) =>
  pool === CONTROL_PLANE_POOL ? controlPlane : pools.find(({ name }) => name === pool);

/**
 * Machines without a name cannot be removed or replaced individually: requests for too many machines, or for machines
 * that are no longer declared, are abandoned as a whole.
 */
const superseded = (
  requests: Requests,
  { before, after }: { readonly before: DeclaredSpec; readonly after: DeclaredSpec },
  members: readonly PoolMember[],
): Requests => {
  const isSuperseded = (pool: string): boolean => {
    const [was, is] = [declaredIn(before, pool), declaredIn(after, pool)];
    const { length } = members.filter((member) => member.pool === pool);
    const isOther = was !== undefined && is !== undefined && changesOf(was, is).length > 0;
    return isOther || length + pendingMachines(requests, pool) > (is?.replicas ?? 0);
  };
  return Object.fromEntries(
    Object.entries(requests).filter(([, { awaited }]) => Object.keys(awaited).some(isSuperseded)),
  );
};

const abandoned = (requests: Requests): readonly PlanStep[] =>
  Object.entries(requests).flatMap(([request, { awaited }]) =>
    Object.entries(awaited).map(([pool, count]) => ({
      ...step('abandon-nodes', pool, { reason: `${machines(count)} of an earlier request, not planned yet`, count }),
      request,
    })),
  );

/** The operations of the upgrade and their reasons are planned after an inspection of the nodes. */
const upgraded = (
  before: DeclaredSpec,
  after: DeclaredSpec,
  { count, releases }: { readonly count: number; readonly releases: PlanBasis['releases'] },
): readonly PlanStep[] => {
  if (before.version === after.version) return [];
  const { versions } = versionPath(before.version, after.version, releases);
  const path = versions.join(' → ');
  const replaced = [
    ...(isReplacedForVersions(after.controlPlane) ? ['control planes'] : []),
    ...after.pools.flatMap((pool) => (isReplacedForVersions(pool) ? [`pool ${pool.name}`] : [])),
  ];
  const how = replaced.length === 0 ? '' : `; replaced by new nodes: ${replaced.join(', ')}`;
  return [step('upgrade', null, { reason: `${path}: ${nodesOf(count)}, control planes before workers${how}`, count })];
};

type NamedList = 'virtualAddresses' | 'addons';

/** Additions, changes and removals in a list whose entries are identified by name. */
const listChanges = (before: DeclaredSpec | undefined, after: DeclaredSpec, list: NamedList): readonly string[] => {
  const [old, now] = [before, after].map((spec) => (spec?.[list] ?? []).map(({ name }) => name)) as [
    string[],
    string[],
  ];
  const fields = changedFields(before, after);
  const change = (name: string): string | undefined => {
    if (!old.includes(name)) return `${name} is new`;
    if (!now.includes(name)) return `${name} is not in the manifest`;
    return fields.some(({ field }) => field.startsWith(`${list}[${name}].`)) ? `${name} changes` : undefined;
  };
  return [...new Set([...now, ...old])].map(change).filter((one) => one !== undefined);
};

/** Releases are installed, upgraded and uninstalled in place. */
const equipped = (before: DeclaredSpec | undefined, after: DeclaredSpec): readonly PlanStep[] => {
  const changes = listChanges(before, after, 'addons');
  return changes.length === 0
    ? []
    : [step('change-addons', null, { reason: changes.join(', '), count: changes.length })];
};

/** The holders of virtual addresses are chosen among existing nodes: no node is created, replaced or drained. */
const balanced = (before: DeclaredSpec | undefined, after: DeclaredSpec): readonly PlanStep[] => {
  const changes = listChanges(before, after, 'virtualAddresses');
  return changes.length === 0
    ? []
    : [step('balance-addresses', null, { reason: changes.join(', '), count: changes.length })];
};

/**
 * The steps to reach the declared state: the same for a dry run and for the change. `before` undefined: the cluster
 * does not exist.
 */
export const planOf = (
  before: DeclaredSpec | undefined,
  after: DeclaredSpec,
  { members, requests = {}, missing = {}, named = [], releases }: PlanBasis,
): readonly PlanStep[] => {
  if (before === undefined) return [...created(after), ...balanced(before, after), ...equipped(before, after)];
  const membersOf = ({ name }: DeclaredPool) => members.filter(({ pool }) => pool === name);
  const byName = (pools: readonly DeclaredPool[]) => new Map(pools.map((pool) => [pool.name, pool]));
  const [old, now] = [byName(before.pools), byName(after.pools)];
  const ended = superseded(requests, { before, after }, members);
  const kept = Object.fromEntries(Object.entries(requests).filter(([id]) => !(id in ended)));
  return [
    ...upgraded(before, after, { count: members.length, releases }),
    ...networked(before, after, members.length),
    ...authenticated(before, after, members.filter(({ pool }) => pool === CONTROL_PLANE_POOL).length),
    ...abandoned(ended),
    ...changedControlPlane(after.controlPlane, {
      was: before.controlPlane,
      members: members.filter(({ pool }) => pool === CONTROL_PLANE_POOL),
      awaited: pendingMachines(kept, CONTROL_PLANE_POOL),
      missing: missing[CONTROL_PLANE_POOL] ?? 0,
      isAbandoned: pendingMachines(ended, CONTROL_PLANE_POOL) > 0,
      named,
    }),
    ...before.pools.filter(({ name }) => !now.has(name)).map((pool) => deleted(pool, membersOf(pool))),
    ...after.pools.flatMap((pool) =>
      changedPool(pool, {
        was: old.get(pool.name),
        members: membersOf(pool),
        awaited: pendingMachines(kept, pool.name),
        missing: missing[pool.name] ?? 0,
        named,
      }),
    ),
    ...balanced(before, after),
    ...equipped(before, after),
  ];
};

/** Nodes that are removed are not replaced. */
const changedPool = (pool: DeclaredPool, scaling: Scaling): readonly PlanStep[] => {
  const { was, members } = scaling;
  const sized = scaled(pool, scaling);
  const rolled = replaced(pool.name, { was, is: pool, pace: paceOf(pool) }, stayingAfter(sized, members));
  return [...sized, ...rolled, ...relabelled(pool, was, members)];
};

/** The machines that a plan requests, by pool. */
export const additionsOf = (plan: readonly PlanStep[], { pools }: DeclaredSpec): readonly NodeSet[] =>
  plan.flatMap(({ action, pool: name, count }) => {
    const pool = pools.find((one) => one.name === name);
    return pool === undefined || count === 0 || (action !== 'add-nodes' && action !== 'create-pool')
      ? []
      : [nodeSetOf(pool, count)];
  });

/** The machines that pools may have beyond their replicas while a plan replaces their nodes. */
export const surgesOf = (plan: readonly PlanStep[], { pools }: DeclaredSpec): readonly NodeSet[] =>
  plan.flatMap(({ action, pool: name, count }) => {
    const pool = pools.find((one) => one.name === name);
    if (pool === undefined || action !== 'replace-nodes' || count === 0) return [];
    const { surge } = rolloutLimits(rolloutOf(pool), pool.replicas);
    return [nodeSetOf(pool, Math.min(surge, count))];
  });

/** The surge control plane while a plan replaces control planes; undefined: it replaces none. */
export const controlPlaneSurgeOf = (plan: readonly PlanStep[], { controlPlane }: DeclaredSpec): NodeSet | undefined =>
  rolloutsOf(plan).includes(CONTROL_PLANE_POOL)
    ? controlPlaneSetOf(controlPlane, controlPlaneSurge(controlPlane))
    : undefined;

/** The control planes that a plan adds; undefined: none. */
export const addedControlPlanes = (plan: readonly PlanStep[], { controlPlane }: DeclaredSpec): NodeSet | undefined => {
  const added = plan.find(({ action, pool }) => action === 'add-nodes' && pool === CONTROL_PLANE_POOL);
  return added === undefined ? undefined : controlPlaneSetOf(controlPlane, added.count);
};

/** The nodes that a plan removes, in order, with the change that removes them and why they were selected. */
export const leavingOf = (plan: readonly PlanStep[]): readonly Victim[] =>
  plan.flatMap(({ action, pool, nodes, reason: change }) =>
    action === 'replace-nodes'
      ? []
      : nodes.map(({ name, reason }) => ({ name, reason: `pool ${pool ?? CONTROL_PLANE_POOL}: ${change}; ${reason}` })),
  );

export const removalsOf = (plan: readonly PlanStep[]): readonly string[] => leavingOf(plan).map(({ name }) => name);

/** The pools whose nodes a plan replaces now. */
export const rolloutsOf = (plan: readonly PlanStep[]): readonly string[] =>
  plan.flatMap(({ action, pool, count }) => (action === 'replace-nodes' && pool !== null && count > 0 ? [pool] : []));

/** Whether a plan changes the version. */
export const isUpgradePlan = (plan: readonly PlanStep[]): boolean => plan.some(({ action }) => action === 'upgrade');

/** The requests that a plan abandons. */
export const abandonedOf = (plan: readonly PlanStep[]): readonly string[] => [
  ...new Set(plan.flatMap(({ request }) => request ?? [])),
];

type Read = (spec: DeclaredSpec) => unknown;

/** Fields that cannot change after creation. The API load balancer is on the connection of the control planes. */
const IMMUTABLE: Readonly<Record<string, Read>> = {
  serviceType: ({ serviceType }) => serviceType,
  loadBalancer: ({ loadBalancer }) => loadBalancer,
  cloudController: ({ cloudController }) => cloudController,
  'network.podCidr': ({ network }) => network.podCidr,
  'network.serviceCidr': ({ network }) => network.serviceCidr,
  'network.dnsDomain': ({ network }) => network.dnsDomain,
  'network.cni': ({ network }) => network.cni,
  'endpoint.publish': ({ endpoint }) => endpoint?.publish ?? false,
  'storage.nfs.server': ({ storage }) => storage?.nfs.server,
  'storage.nfs.path': ({ storage }) => storage?.nfs.path,
  'controlPlane.connection': ({ controlPlane }) => controlPlane.connection,
  'controlPlane.etcd': ({ controlPlane }) => controlPlane.etcd,
  'controlPlane.schedulable': ({ controlPlane }) => controlPlane.schedulable,
};

const shown = (value: unknown): string => (value === undefined ? 'not set' : String(value));

/** Why the declared number of control planes is not possible. */
const controlPlaneFaults = (
  { controlPlane: was }: DeclaredSpec,
  { controlPlane: is }: DeclaredSpec,
): readonly Refusal[] => {
  const field = 'spec.controlPlane.replicas';
  const [before, after] = [was.replicas, is.replicas];
  if (before === after) return [];
  if (was.etcd === 'external')
    return EXTERNAL_ETCD_COUNTS.includes(after) ? [] : [refuse('cluster.etcd-external-count', {}, field)];
  if (was.schedulable) return [refuse('cluster.single-node', {}, field)];
  return controlPlaneCountFaults(is, field);
};

const CONTROL_PLANE_MACHINE: Readonly<Record<string, Read>> = {
  'controlPlane.machineType': ({ controlPlane }) => controlPlane.machineType,
  'controlPlane.rootDisk.type': ({ controlPlane }) => controlPlane.rootDisk.type,
  'controlPlane.rootDisk.size': ({ controlPlane }) => controlPlane.rootDisk.size,
  'controlPlane.image': ({ controlPlane }) => controlPlane.image,
};

const fieldFaults = (
  fields: Readonly<Record<string, Read>>,
  [before, after]: readonly [DeclaredSpec, DeclaredSpec],
): readonly Refusal[] =>
  Object.entries(fields).flatMap(([field, read]) => {
    const [was, is] = [shown(read(before)), shown(read(after))];
    return was === is ? [] : [refuse('cluster.field-immutable', { field, before: was, after: is }, `spec.${field}`)];
  });

/** Why control planes cannot be replaced: only `kubeadm init` creates schedulable ones. */
const machineFaults = (before: DeclaredSpec, after: DeclaredSpec): readonly Refusal[] => {
  return before.controlPlane.schedulable ? fieldFaults(CONTROL_PLANE_MACHINE, [before, after]) : [];
};

/** Why control planes cannot be replaced as declared. */
export const controlPlaneRolloutFaults = ({
  controlPlane,
}: {
  readonly controlPlane: Pick<DeclaredSpec['controlPlane'], 'replicas' | 'rollout' | 'schedulable'>;
}): readonly Refusal[] => {
  const { replicas, schedulable } = controlPlane;
  const min = REMOVE_FIRST_CONTROL_PLANES_MIN;
  const field = 'spec.controlPlane.rollout';
  return [
    ...(controlPlaneRolloutOf(controlPlane).maxSurge === 0 && replicas < min
      ? [refuse('cluster.control-plane-surge', { min, count: replicas }, `${field}.maxSurge`)]
      : []),
    ...(schedulable && isReplacedForVersions(controlPlane)
      ? [refuse('cluster.replace-schedulable', {}, `${field}.strategy`)]
      : []),
  ];
};

/** Removals may have left too few control planes: that must not block unrelated changes. */
const rolloutFaults = ({ controlPlane: was }: DeclaredSpec, after: DeclaredSpec): readonly Refusal[] => {
  const { controlPlane: is } = after;
  const isSame =
    was.replicas === is.replicas &&
    controlPlaneRolloutOf(was).maxSurge === controlPlaneRolloutOf(is).maxSurge &&
    isReplacedForVersions(was) === isReplacedForVersions(is);
  return isSame ? [] : controlPlaneRolloutFaults(after);
};

/** Why no upgrade leads to the declared version. Obstacles on the nodes are found by the upgrade's own checks. */
const versionFaults = (
  { version: before }: DeclaredSpec,
  { version: after }: DeclaredSpec,
  releases: PlanBasis['releases'],
): readonly Refusal[] => {
  const { obstacle } = versionPath(before, after, releases);
  if (obstacle === undefined) return [];
  return obstacle.kind === 'lower'
    ? [refuse('cluster.version-lower', { before, after }, 'spec.version')]
    : [refuse('cluster.version-path', { before, after, missing: obstacle.missing }, 'spec.version')];
};

/** Why a cluster cannot change to the declared state, each with the field and a remedy. */
export const changeFaults = (
  before: DeclaredSpec,
  after: DeclaredSpec,
  releases?: PlanBasis['releases'],
): readonly Refusal[] => [
  ...fieldFaults(IMMUTABLE, [before, after]),
  ...leaseChangeFaults(before.lease, after.lease),
  ...versionFaults(before, after, releases),
  ...controlPlaneFaults(before, after),
  ...machineFaults(before, after),
  ...rolloutFaults(before, after),
];
