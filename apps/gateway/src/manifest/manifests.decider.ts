import {
  clusterSpecOf,
  CONTROL_PLANE_POOL,
  controlPlaneSetOf,
  isRefusal,
  nodeSetOf,
  refuse,
  type ClusterName,
  type ClusterUid,
  type DeclaredPool,
  type DeclaredSpec,
  type EventData,
  type Fact,
  type KubernetesRelease,
  type Labels,
  type NodeName,
  type PlanStep,
  type Refusal,
  type TemplateUse,
} from '@fairlead/contracts';
import {
  memberOf,
  abandonedOf,
  addedControlPlanes,
  additionsOf,
  changedFields,
  changedLabels,
  changeFaults,
  isUpgradePlan,
  leavingOf,
  declaredAfter,
  missingIn,
  missingOf,
  planOf,
  removalsOf,
  rolloutsOf,
  specBeforeUpgrade,
  summaryOfChanges,
  type Declared,
  type PoolMember,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { busy, clusters, isCorrectable, upgrading, type ClusterState } from '../clusters/clusters.decider.js';
import { retries } from '../clusters/retries.decider.js';
import { sameJson } from '../common/json.js';
import { failedRolloutOf, isGrowing, isReplacing, isRollingOut } from '../lifecycle/node.requests.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { upgrades, type UpgradeOrder, type UpgradesState } from '../upgrades/upgrades.decider.js';

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: ClusterName;
}

/** Changes nothing: its outcome is the state as the log has it. */
export type ReadManifest = Command<'ReadManifest', NamedCluster>;
export type ApplyManifest = Command<
  'ApplyManifest',
  NamedCluster & {
    readonly spec: DeclaredSpec;
    /** The template that the spec was resolved from; absent: the one that the cluster has. */
    readonly template?: TemplateUse;
    /** What the caller was shown, or would be: it is carried out as it is, or not at all. */
    readonly plan: readonly PlanStep[];
    /** Nodes that are removed before others of their pools. */
    readonly named?: readonly string[];
    /** The provider's id of the machine that becomes the one node that is added; absent: machines are created. */
    readonly adopts?: string;
    /** Of the cluster itself; absent: as they are. */
    readonly labels?: Labels;
    /** The state that spec and plan were made from: while the cluster still has it, nothing is planned again. */
    readonly seen: ManifestState;
    /** Everything is decided, and nothing recorded. */
    readonly dryRun: boolean;
    /** Of a new cluster. */
    readonly uid: ClusterUid;
    /** Of the machines that are added, and of a new cluster. */
    readonly requestId: string;
    readonly requestHash: string;
    readonly actor: string;
    /** Why connections cannot be used, or have no room. */
    readonly connectionFaults: readonly Refusal[];
    /** The upgrade to the version of the spec: requested if that is another one. */
    readonly upgrade: UpgradeOrder;
    /** What the installation offers; left out: the built-in releases. */
    readonly releases?: readonly KubernetesRelease[];
  }
>;
/** A node that was asked to leave stays, and its pool counts it again. */
export type CancelRemoval = Command<
  'CancelRemoval',
  NamedCluster & { readonly node: NodeName; readonly reason: string }
>;
/** Machines of a pool are declared, and a request for them came to nothing. */
export type AskAgain = Command<
  'AskAgain',
  NamedCluster & { readonly uid: ClusterUid; readonly pool: string; readonly requestId: string }
>;
/** What has stopped or was denied is tried again: it is due by its own schedule, or there may be room for it now. */
export type TryAgain = Command<'TryAgain', NamedCluster & { readonly uid: ClusterUid; readonly why: 'due' | 'room' }>;
export type ManifestCommand = ReadManifest | ApplyManifest | CancelRemoval | AskAgain | TryAgain;

type PresentClusterState = Extract<ClusterState, { status: 'present' }>;

export interface ManifestState {
  readonly cluster: ClusterState;
  readonly declared: Declared | undefined;
  readonly upgrades: UpgradesState;
}

type ManifestFact = Fact<
  | 'ClusterRequested'
  | 'ClusterRetryRequested'
  | 'ClusterSpecChanged'
  | 'ClusterTemplateChosen'
  | 'ClusterPaused'
  | 'ClusterResumed'
  | 'NodesAbandoned'
  | 'NodesRequested'
  | 'NodeRemovalRequested'
  | 'NodeRemovalCancellationRequested'
  | 'PoolRolloutRequested'
  | 'UpdatesDisabledSet'
  | 'UpgradeRequested'
  | 'UpgradeAbortRequested'
>;

/** The nodes that control plane and pools count, in the order in which they were planned. */
export const poolMembers = ({ cluster, declared }: ManifestState): readonly PoolMember[] => {
  if (cluster.status === 'absent' || declared === undefined) return [];
  return Object.entries(declared.nodes).flatMap(([name, pool]) => {
    const member = memberOf(cluster.members, name);
    if (member === undefined) return [];
    const { ready, lost, wasReady: joined, zone, machine, leader } = member;
    return [{ name, pool, ready: ready && !lost, joined, zone, machine, leader }];
  });
};

/** They say nothing of what is made, so a creation that has stopped does not go on because of them. */
const FIELDS_INDEPENDENT_OF_CREATION = /^(onFailure|paused)$/;

/** Nothing was made of the cluster, and its request becomes another one: everything in it may change. */
export const isCorrection = ({ cluster, declared }: ManifestState, spec: DeclaredSpec): boolean =>
  declared !== undefined &&
  isCorrectable(cluster) &&
  changedFields(declared.spec, spec).some(({ field }) => !FIELDS_INDEPENDENT_OF_CREATION.test(field));

const isUnnamed = ({ cluster }: ManifestState): boolean =>
  cluster.status === 'present' && Object.keys(cluster.members).length === 0 && cluster.creation?.isOver === false;

/** Another version than that of an upgrade that waits leads away from the version that nodes have. */
const basisOf = (
  { declared, upgrades: { latest } }: ManifestState,
  { version }: DeclaredSpec,
): DeclaredSpec | undefined =>
  declared !== undefined && latest?.phase === 'Waiting' && declared.spec.version !== version
    ? specBeforeUpgrade(declared)
    : declared?.spec;

/** What has to be done so that the cluster is as declared. */
export const planFor = (
  state: ManifestState,
  spec: DeclaredSpec,
  named: readonly string[] = [],
  releases?: readonly KubernetesRelease[],
): readonly PlanStep[] => {
  if (isDeclared(state, spec)) return [];
  const requests = state.declared?.requests ?? {};
  const before = isCorrection(state, spec) ? undefined : basisOf(state, spec);
  const missing = state.declared === undefined ? {} : missingIn(state.declared);
  const plan = planOf(before, spec, { members: poolMembers(state), requests, missing, named, releases });
  // The machines of a creation are asked for already, and have no names yet.
  return before !== undefined && isUnnamed(state) ? plan.filter(({ action }) => action !== 'add-nodes') : plan;
};

/** The order of pools means nothing. `labels` absent: as they are. */
export const isDeclared = ({ declared }: ManifestState, spec: DeclaredSpec, labels?: Labels): boolean =>
  declared !== undefined &&
  changedFields(declared.spec, spec).length === 0 &&
  (labels === undefined || sameJson(labels, declared.labels ?? {}));

const HOLD_REASON = 'the manifest of the cluster says updatesDisabled';

/** A pool that the manifest holds out of upgrades is held as by the route for holds. */
const holdFacts = (
  uid: ClusterUid,
  before: readonly DeclaredPool[],
  after: readonly DeclaredPool[],
): readonly ManifestFact[] => {
  const isHeld = (pools: readonly DeclaredPool[], pool: string): boolean =>
    pools.find(({ name }) => name === pool)?.updatesDisabled === true;
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  return names.flatMap((pool) => {
    const disabled = isHeld(after, pool);
    if (disabled === isHeld(before, pool)) return [];
    const reason = disabled ? HOLD_REASON : '';
    return [{ type: 'UpdatesDisabledSet', data: { uid, scope: { kind: 'pool', pool }, disabled, reason } } as const];
  });
};

/** Named nodes must leave by this very change. */
const namedFault = (
  plan: readonly PlanStep[],
  { namespace, cluster, named = [] }: Pick<ApplyManifest['data'], 'namespace' | 'cluster' | 'named'>,
  members: readonly PoolMember[],
): Refusal | undefined => {
  const leaving = removalsOf(plan);
  const stays = named.find((node) => !leaving.includes(node));
  if (stays === undefined) return undefined;
  const pool = members.find(({ name }) => name === stays)?.pool;
  const removed = plan.find((step) => step.pool === pool && step.action === 'remove-nodes');
  if (pool === undefined) return refuse('node.unknown', { namespace, cluster, node: stays }, 'spec.remove');
  return refuse('pool.removals-exceed', { pool, named: named.length, count: removed?.count ?? 0 }, 'spec.remove');
};

const create = ({ cluster }: ManifestState, { data }: ApplyManifest): readonly ManifestFact[] | Refusal => {
  const { namespace, cluster: name, uid, spec, requestHash, actor, connectionFaults } = data;
  const requested = clusters.decide(cluster, {
    type: 'RequestCluster',
    data: { namespace, cluster: name, uid, spec: clusterSpecOf(name, spec), requestHash, actor, connectionFaults },
  });
  if (isRefusal(requested)) return requested;
  const pause: readonly ManifestFact[] = spec.paused === true ? [paused(uid)] : [];
  return [
    ...(requested as readonly ManifestFact[]),
    ...pause,
    ...holdFacts(uid, [], spec.pools),
    ...chosenFacts(uid, data),
    specChanged({ uid, revision: 1, spec }, data.labels),
  ];
};

/** The choice of another template than it has. */
const chosenFacts = (
  uid: ClusterUid,
  { template }: Pick<ApplyManifest['data'], 'template'>,
  before?: TemplateUse,
): readonly ManifestFact[] =>
  template === undefined || sameJson(template, before ?? null)
    ? []
    : [{ type: 'ClusterTemplateChosen', data: { uid, template: template.name, revision: template.revision } }];

/** The creation begins again with the corrected request, under the same uid. */
const correct = (
  cluster: PresentClusterState,
  declared: Declared,
  command: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { namespace, cluster: name, spec, requestHash, connectionFaults } = command.data;
  const pause = pauseFacts(cluster, declared, command.data);
  const unusable = isRefusal(pause) ? pause : connectionFaults[0];
  if (unusable !== undefined) return unusable;
  const correction = { spec: clusterSpecOf(name, spec), requestHash };
  const retried = clusters.decide(
    { ...cluster, pause: null },
    { type: 'RetryCluster', data: { namespace, cluster: name, correction } },
  );
  if (isRefusal(retried)) return retried;
  const { uid, revision } = declared;
  return [
    ...(pause as readonly ManifestFact[]),
    ...(retried as readonly ManifestFact[]),
    ...holdFacts(uid, declared.spec.pools, spec.pools),
    ...chosenFacts(uid, command.data, declared.template),
    specChanged({ uid, revision: revision + 1, spec }, command.data.labels ?? declared.labels, declared),
  ];
};

const DECLARED = 'declared in the manifest';
const paused = (uid: ClusterUid): ManifestFact => ({ type: 'ClusterPaused', data: { uid, reason: DECLARED } });
const resumed = (uid: ClusterUid): ManifestFact => ({ type: 'ClusterResumed', data: { uid, reason: DECLARED } });

/** A pause and other changes never mix. A resumption and other changes may: the cluster is not paused any more when they begin. */
const pauseFacts = (
  { pause, uid }: PresentClusterState,
  declared: Declared,
  { cluster, namespace, spec }: ApplyManifest['data'],
): readonly ManifestFact[] | Refusal => {
  const isDesired = spec.paused === true;
  const others = changedFields(declared.spec, spec).flatMap(({ field }) => (field === 'paused' ? [] : [field]));
  if (pause === null && isDesired)
    return others.length === 0
      ? [paused(uid)]
      : refuse('cluster.pause-with-changes', { cluster, fields: others.join(', ') }, 'spec.paused');
  if (pause === null) return nothing;
  if (isDesired) return refuseWhilePaused(pause, { namespace, cluster }, 'apply a manifest') ?? nothing;
  return [resumed(uid)];
};

/** `before` undefined: a new cluster, of which everything would be a change. */
const specChanged = (
  data: Pick<EventData<'ClusterSpecChanged'>, 'uid' | 'revision' | 'spec'>,
  labels: Labels = {},
  before?: Declared,
): Fact<'ClusterSpecChanged'> => ({
  type: 'ClusterSpecChanged',
  data: {
    ...data,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(before === undefined
      ? {}
      : summaryOfChanges([...changedLabels(before.labels, labels), ...changedFields(before.spec, data.spec)])),
  },
});

/** What the routes for nodes would request, by the same rules. Removals come first: nodes may be added while others leave. */
const nodeFacts = (
  cluster: PresentClusterState,
  declared: Declared,
  { data }: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { namespace, cluster: name, plan, spec, requestId, adopts, connectionFaults } = data;
  const instead = abandonedOf(plan);
  const leaving = leavingOf(plan).map((victim) => ({ ...victim, node: victim.name as NodeName }));
  const removals = leaving.map(({ node, reason }, at) => {
    const after = leaving.slice(0, at).map((one) => one.node);
    return clusters.decide(cluster, {
      type: 'RemoveNode',
      data: { namespace, cluster: name, node, after, instead, reason },
    });
  });
  const abandoned = instead.map((id) => ({
    type: 'NodesAbandoned' as const,
    data: { uid: declared.uid, requestId: id, nodes: [], superseded: true as const },
  }));
  const workers = additionsOf(plan, spec);
  const controlPlane = addedControlPlanes(plan, spec);
  const additions =
    workers.length === 0 && controlPlane === undefined
      ? nothing
      : clusters.decide(cluster, {
          type: 'RequestNodes',
          data: {
            ...{ namespace, cluster: name, requestId, workers, controlPlane, connectionFaults, instead },
            // A machine that was there before is not deleted because it could not become a node.
            ...(adopts === undefined ? {} : { adopts, onFailure: 'keep' }),
          },
        });
  const outcomes = [...removals, abandoned, additions];
  return outcomes.find(isRefusal) ?? (outcomes.flat() as readonly ManifestFact[]);
};

/** A cluster of service type single has all its nodes on one connection. */
const foreignConnection = (declared: Declared, { plan, spec }: ApplyManifest['data']): Refusal | undefined => {
  const { serviceType, controlPlane } = declared.spec;
  if (serviceType !== 'single') return undefined;
  const rolled = new Set(rolloutsOf(plan));
  const at = spec.pools.findIndex(({ name, connection }) => rolled.has(name) && connection !== controlPlane.connection);
  const connection = spec.pools[at]?.connection;
  return connection === undefined
    ? undefined
    : refuse('cluster.single-connection', { connection }, `spec.pools[${at}].connection`);
};

const fieldOf = (pool: string): string => (pool === CONTROL_PLANE_POOL ? 'controlPlane.' : `pools[${pool}].`);

/**
 * A rollout that has failed is requested again, too, when its pool is changed: nothing may be left of it to replace. Nodes that someone
 * asked for are asked for again, unless all nodes of the pool are replaced now.
 */
const rolloutFacts = (
  { cluster, declared }: Pick<ManifestState, 'cluster' | 'declared'>,
  { data }: ApplyManifest,
): readonly ManifestFact[] => {
  if (cluster.status === 'absent' || declared === undefined) return nothing;
  const { uid, additions } = cluster;
  const planned = new Set(rolloutsOf(data.plan));
  const isChanged = (pool: string): boolean =>
    changedFields(declared.spec, data.spec).some(({ field }) => field.startsWith(fieldOf(pool)));
  return [CONTROL_PLANE_POOL, ...data.spec.pools.map(({ name }) => name)].flatMap((pool) => {
    const failed = failedRolloutOf(additions, pool);
    if (!planned.has(pool) && !(failed !== undefined && isChanged(pool))) return [];
    const asked = planned.has(pool) ? {} : failed?.asked;
    return [
      { type: 'PoolRolloutRequested', data: { uid, requestId: `${data.requestId}-${pool}`, pool, ...asked } } as const,
    ];
  });
};

const POLICY_FIELD =
  /(^controlPlane|\])\.health\.|^hooks(\[|$)|^(drain|firewall|sshd|etcdBackups|authentication|lease)\.|^(virtualAddresses|addons)\[|^(onFailure|paused|template|drift|etcdSnapshotMaxAge)$/;

/** Health checks, drain rules, virtual addresses, add-ons, what nodes accept, how users sign in, the schedule and the age of snapshots, the end of the cluster and what a failed creation leads to may always be changed: what they lead to must not keep anyone from stopping it. */
const changesPoliciesAlone = (before: DeclaredSpec, after: DeclaredSpec): boolean =>
  changedFields(before, after).every(({ field }) => POLICY_FIELD.test(field));

/** A creation that has stopped goes on as it was declared, or not at all, once there may be something of it. */
export const stoppedCreationFault = (
  { cluster: state, declared }: ManifestState,
  spec: DeclaredSpec,
  { cluster }: Pick<NamedCluster, 'cluster'>,
): Refusal | undefined =>
  state.status === 'absent' ||
  declared === undefined ||
  state.phase !== 'Failed' ||
  changesPoliciesAlone(declared.spec, spec)
    ? undefined
    : refuse('cluster.creation-failed', { action: 'apply a manifest', cluster });

const AUTHENTICATION_FIELD = /^authentication\./;

/** Clusters of earlier releases have API servers without the file. */
const authenticationFault = (
  { initialized, authenticationFile, phase }: PresentClusterState,
  before: DeclaredSpec,
  { cluster, spec }: ApplyManifest['data'],
): Refusal | undefined => {
  if (phase === 'Deleting' || !initialized || authenticationFile) return undefined;
  const isChanged = changedFields(before, spec).some(({ field }) => AUTHENTICATION_FIELD.test(field));
  return isChanged ? refuse('cluster.authentication-fixed', { cluster }, 'spec.authentication') : undefined;
};

const HOOKS_FIELD = /^hooks(\[|$)/;

/** A hook that holds a deletion must not keep anyone from taking it out. */
const changesHooksAlone = (before: DeclaredSpec, after: DeclaredSpec): boolean => {
  const changed = changedFields(before, after);
  return changed.length > 0 && changed.every(({ field }) => HOOKS_FIELD.test(field));
};

/**
 * Nodes come and go beside each other. A template may change while pools are rolled out; nothing else but policies changes
 * beside nodes that are replaced, and nodes are not replaced while others come.
 */
const blockingChange = (
  cluster: PresentClusterState,
  before: DeclaredSpec,
  { data }: ApplyManifest,
): Refusal | undefined => {
  if (changesPoliciesAlone(before, data.spec)) return undefined;
  const action = 'apply a manifest';
  if (cluster.phase !== 'Provisioned') return refuse('cluster.not-ready', { action, phase: cluster.phase });
  const { additions } = cluster;
  const isTemplate = data.plan.every((step) => step.action === 'replace-nodes');
  const isBlocked = isReplacing(additions)
    ? !(isRollingOut(additions) && isTemplate)
    : isGrowing(additions) && data.plan.some((step) => step.action === 'replace-nodes');
  return isBlocked ? busy(data, action) : upgrading(cluster, data, action);
};

/** An upgrade goes node by node, and nothing else happens to nodes beside it (B1). What needs none of them may change with it. */
const upgradeFacts = (
  { upgrades: before }: ManifestState,
  declared: Declared,
  { data: { namespace, cluster, plan, spec, upgrade, actor } }: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { latest } = before;
  const { uid, upgrading: waiting } = declared;
  if (latest?.phase === 'Waiting' && waiting?.from === spec.version && declared.spec.version !== spec.version)
    return [
      {
        type: 'UpgradeAbortRequested',
        data: { uid, upgradeId: latest.id, reason: `the manifest declares ${spec.version} again` },
      },
    ];
  if (!isUpgradePlan(plan)) return nothing;
  const others = plan.filter(({ action }) => action !== 'upgrade');
  if (others.length > 0) {
    const fields = [...new Set(others.map(({ pool, action }) => `${pool ?? cluster} (${action})`))].join(', ');
    const versions = { before: declared.spec.version, after: spec.version };
    return refuse('cluster.version-with-changes', { ...versions, fields }, 'spec.version');
  }
  // The manifest itself chooses the version, by its template if it has one.
  const chosen = { ...before, declared: undefined };
  const resumed = before.cluster === undefined ? chosen : { ...chosen, cluster: { ...before.cluster, pause: null } };
  // Whoever applies the manifest approves the plan.
  const data = { namespace, cluster, actor, ...upgrade, mode: 'go' as const, declared: true as const };
  return upgrades.decide(resumed, { type: 'RequestUpgrade', data }) as readonly ManifestFact[] | Refusal;
};

/** A reservation has an end, so its cluster has one. */
const reservedFault = ({ lifetime }: PresentClusterState, { lease }: DeclaredSpec): Refusal | undefined =>
  lease === undefined && Object.keys(lifetime?.reserved ?? {}).length > 0
    ? refuse('cluster.lease-reserved', {}, 'spec.lease')
    : undefined;

/** The same command was carried out, and its upgrade is over: what it declared may be declared no more. */
const isRepetition = (
  { upgrades: { latest, over } }: ManifestState,
  { plan, upgrade: { upgradeId } }: ApplyManifest['data'],
): boolean => isUpgradePlan(plan) && (latest?.id === upgradeId || over.has(upgradeId));

/** What changes, whether it may, and what has to be done for it. */
const change = (
  state: ManifestState,
  declared: Declared,
  command: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { cluster } = state;
  const { data } = command;
  if (cluster.status === 'absent') throw new Error('a cluster that is declared is present');
  const exceeds = namedFault(data.plan, data, poolMembers(state));
  if (exceeds !== undefined) return exceeds;
  if (isDeclared(state, data.spec, data.labels) || isRepetition(state, data)) return nothing;
  if (isCorrection(state, data.spec)) return correct(cluster, declared, command);
  const stopped = stoppedCreationFault(state, data.spec, data);
  if (stopped !== undefined) return stopped;
  const [fault] = changeFaults(specBeforeUpgrade(declared), data.spec, data.releases);
  if (fault !== undefined) return fault;
  const reserved = reservedFault(cluster, data.spec);
  if (reserved !== undefined) return reserved;
  const pause = pauseFacts(cluster, declared, data);
  if (isRefusal(pause)) return pause;
  const { uid, revision } = declared;
  const labels = data.labels ?? declared.labels;
  const changed = specChanged({ uid, revision: revision + 1, spec: data.spec }, labels, declared);
  if (changedFields(declared.spec, data.spec).every(({ field }) => field === 'paused')) return [...pause, changed];
  const facts = changeFacts({ ...state, cluster: { ...cluster, pause: null } }, declared, command);
  if (isRefusal(facts)) return facts;
  return [...pause, ...facts, ...chosenFacts(uid, data, declared.template), changed];
};

/** What is requested for a change of anything but the pause. */
const changeFacts = (
  state: ManifestState & { readonly cluster: PresentClusterState },
  declared: Declared,
  command: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { cluster } = state;
  const hindrance =
    authenticationFault(cluster, declared.spec, command.data) ?? blockingChange(cluster, declared.spec, command);
  if (hindrance !== undefined) return hindrance;
  const facts = nodeFacts(cluster, declared, command);
  if (isRefusal(facts)) return facts;
  const upgrade = upgradeFacts(state, declared, command);
  if (isRefusal(upgrade)) return upgrade;
  const rollouts = rolloutFacts(state, command);
  const { data } = command;
  const unusable = rollouts.length === 0 ? undefined : (foreignConnection(declared, data) ?? data.connectionFaults[0]);
  const holds = holdFacts(declared.uid, declared.spec.pools, data.spec.pools);
  return unusable ?? [...facts, ...rollouts, ...holds, ...upgrade];
};

/** The cluster has changed since the caller saw it, so that something else was declared or something else follows. */
const isOutdated = (state: ManifestState, { seen, spec, plan, named, releases }: ApplyManifest['data']): boolean =>
  seen !== state &&
  (seen.declared?.seq !== state.declared?.seq || !sameJson(plan, planFor(state, spec, named, releases)));

const apply = (state: ManifestState, command: ApplyManifest): readonly ManifestFact[] | Refusal => {
  const { cluster: name, namespace, spec, dryRun } = command.data;
  const { cluster, declared } = state;
  const isDeleting = cluster.status === 'present' && cluster.phase === 'Deleting';
  if (isDeleting && (declared === undefined || !changesHooksAlone(declared.spec, spec)))
    return refuse('cluster.deleting', { cluster: name });
  if (isOutdated(state, command.data)) return refuse('conflict.concurrent', { what: `${namespace}/${name}` });
  const facts = declared === undefined ? create(state, command) : change(state, declared, command);
  return dryRun && !isRefusal(facts) ? nothing : facts;
};

/** The pool that it would return to may have been changed since. */
const poolFault = ({ cluster, declared }: ManifestState, node: string): string | undefined => {
  const pool = cluster.status === 'absent' ? undefined : memberOf(cluster.members, node)?.pool;
  const found = declared?.spec.pools.find(({ name }) => name === pool);
  if (found === undefined) return `pool ${pool} is not declared any more`;
  const max = found.autoscaling?.max ?? Number.POSITIVE_INFINITY;
  return found.replicas < max ? undefined : `pool ${pool} has its maximum of ${max} nodes without it`;
};

const cancelRemoval = (state: ManifestState, command: CancelRemoval): readonly ManifestFact[] | Refusal => {
  const facts = clusters.decide(state.cluster, command) as readonly ManifestFact[] | Refusal;
  if (isRefusal(facts) || facts.length === 0) return facts;
  const { reason: _reason, ...about } = command.data;
  const detail = poolFault(state, about.node);
  return detail === undefined ? facts : refuse('node.removal-not-cancellable', { ...about, detail });
};

/** infra-svc knows best whether there is room by now: it says so, or why not. */
const askAgain = ({ cluster, declared }: ManifestState, { data }: AskAgain): readonly ManifestFact[] | Refusal => {
  const { uid, pool: name, requestId, ...named } = data;
  if (declared === undefined || declared.uid !== uid) return nothing;
  const count = missingOf(declared, name);
  if (count === 0) return nothing;
  const { controlPlane, pools } = declared.spec;
  const pool = pools.find((one) => one.name === name);
  const sets =
    name === CONTROL_PLANE_POOL
      ? { workers: [], controlPlane: controlPlaneSetOf(controlPlane, count) }
      : { workers: pool === undefined ? [] : [nodeSetOf(pool, count)] };
  const command = { type: 'RequestNodes', data: { ...named, requestId, ...sets, connectionFaults: [] } } as const;
  return clusters.decide(cluster, command) as readonly ManifestFact[] | Refusal;
};

const tryAgain = (
  { cluster, declared }: ManifestState,
  { data: { uid, why, ...named } }: TryAgain,
): readonly ManifestFact[] | Refusal => {
  if (declared === undefined || declared.uid !== uid) return nothing;
  const stopped = Object.values(declared.stopped ?? {}).some(({ open }) => open !== true);
  const isUnmet = stopped || (why === 'room' && declared.denied !== undefined);
  if (!isUnmet) return nothing;
  return retries.decide({ cluster, declared }, { type: 'RetryCluster', data: { ...named, again: why } });
};

const decide = (state: ManifestState, command: ManifestCommand): readonly ManifestFact[] | Refusal => {
  switch (command.type) {
    case 'ReadManifest':
      return nothing;
    case 'ApplyManifest':
      return apply(state, command);
    case 'CancelRemoval':
      return cancelRemoval(state, command);
    case 'AskAgain':
      return askAgain(state, command);
    case 'TryAgain':
      return tryAgain(state, command);
  }
};

/**
 * What people declare of a cluster. A change is requested by the same facts as through the routes for clusters and nodes, and
 * by the same rules; the spec itself is the last fact of the decision, so that what was declared is what stands at its end.
 */
export const manifests: Decider<ManifestState, ManifestCommand, ManifestFact> = {
  initial: { cluster: clusters.initial, declared: undefined, upgrades: upgrades.initial },
  reads: 'cluster',
  decide,
  evolve: (state, event) => ({
    cluster: clusters.evolve(state.cluster, event),
    declared: declaredAfter(state.declared, event),
    upgrades: upgrades.evolve(state.upgrades, event),
  }),
};
