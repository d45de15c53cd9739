import {
  type StoredEvent,
  type EventData,
  type ClusterUid,
  type MachinePlan,
  type ReplacementOrder,
  type JoinTokenId,
  CONTROL_PLANE_POOL,
  declaredOf,
  type DeclaredPool,
  type DeclaredSpec,
  sentenceOf,
  without,
  type TemplateUse,
} from '@fairlead/contracts';
import { replacementIn, type Replacement } from '../members/replacements.js';
import { requestedSets } from '../usage.js';
import {
  denialsAfter,
  dueAtOnce,
  setBack,
  stoppedAfter,
  type Denials,
  type Setback,
  type StoppedRollouts,
} from './unmet.js';

/** A request for nodes that is not finished. */
export interface RequestedNodes {
  /** Requested machines that are not planned yet, by pool: the replicas already count them. */
  readonly awaited: Readonly<Record<string, number>>;
  /** Pools that exist only because of this request. */
  readonly newPools: readonly string[];
  /** None of its machines has a name yet. */
  readonly unplanned?: true;
  /** It makes no machine, but takes one that there is: its pool grows by that one or not at all. */
  readonly adopts?: true;
}

/** A counted node that is being replaced: its pool keeps its size. */
interface Replaced {
  readonly node: string;
  readonly pool: string;
  readonly order: ReplacementOrder;
  /** Its replacement; null: not planned yet. */
  readonly newNode: string | null;
  /** The old node no longer exists. */
  readonly vacant: boolean;
}

/** The desired state of a cluster, whichever route set it. A plain JSON value. */
export interface Declared {
  readonly uid: ClusterUid;
  readonly spec: DeclaredSpec;
  /** Number of applied manifests; changes through other routes do not count. */
  readonly revision: number;
  /** Sequence of the latest event that changed the spec: the `resourceVersion` of the manifest. */
  readonly seq: number;
  /** Nodes that the replicas count, with their pools. */
  readonly nodes: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, RequestedNodes>>;
  /** Unfinished replacements by request; absent in rows of earlier releases. */
  readonly replaced?: Readonly<Record<string, Replaced>>;
  /** Target versions of upgrades in progress. */
  readonly targets: Readonly<Record<string, DeclaredSpec['version']>>;
  /** The version that a rollout is currently installing; absent: no rollout. */
  readonly rollingTo?: DeclaredSpec['version'];
  /** An upgrade to a version that a manifest declares and nodes do not have yet; absent: none. */
  readonly upgrading?: {
    readonly upgradeId: string;
    readonly from: DeclaredSpec['version'];
    /** The previous template; null: there was none; absent: unchanged. */
    readonly template?: TemplateUse | null;
  };
  /** The template from which the spec was resolved; absent: none. */
  readonly template?: TemplateUse;
  /** The template chosen by a decision whose spec change follows. */
  readonly choosing?: TemplateUse;
  /** Labels of the cluster itself; absent: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Pools with bootstrap data, with the ids of their tokens. Absent: none. */
  readonly bootstrapped?: Readonly<Record<string, JoinTokenId>>;
  /** Nodes of the most recently planned requests: the decision to abandon one may predate its plan. Absent: none. */
  readonly planned?: Readonly<Record<string, readonly string[]>>;
  /** Requests that were abandoned before their machines had names: machines planned for them later do not count. */
  readonly abandoned?: readonly string[];
  /** Nodes that were asked for beside the manifest: they are declared for as long as their request is. Absent: none. */
  readonly beside?: Readonly<Record<string, true>>;
  /** Why pools lack machines that are declared; `missingOf` says how many. Absent: none does. */
  readonly unmet?: Readonly<Record<string, Setback>>;
  /** The declared end, where providers have denied it. Absent: none has. */
  readonly denied?: NonNullable<Denials>;
  /** Rollouts of pools that have stopped at a failure. Absent: none has. */
  readonly stopped?: NonNullable<StoppedRollouts>;
}

/** Far more than can be abandoned between a request and its plan. */
const ABANDONED_MAX = 50;
/** As many requests as a cluster may have open. */
const PLANNED_MAX = 20;

const begin = ({ data: { uid, spec }, meta }: StoredEvent<'ClusterRequested'>): Declared => ({
  uid,
  spec: declaredOf(spec),
  revision: 0,
  seq: meta.seq,
  nodes: {},
  requests: {},
  targets: {},
});

const resized = (spec: DeclaredSpec, pool: string, change: number): DeclaredSpec => {
  const count = <Of extends { readonly replicas: number }>(of: Of): Of => ({
    ...of,
    replicas: Math.max(0, of.replicas + change),
  });
  if (pool === CONTROL_PLANE_POOL) return { ...spec, controlPlane: count(spec.controlPlane) };
  return { ...spec, pools: spec.pools.map((one) => (one.name === pool ? count(one) : one)) };
};

const withReplaced = (declared: Declared, requestId: string, replaced: Replaced | undefined): Declared => {
  const others = without(declared.replaced ?? {}, requestId);
  if (replaced !== undefined) return { ...declared, replaced: { ...others, [requestId]: replaced } };
  const { replaced: _over, ...rest } = declared;
  return Object.keys(others).length === 0 ? rest : { ...rest, replaced: others };
};

/** The new node of a replacement leaves, which ends the replacement. */
const superseded = (declared: Declared, name: string): Declared => {
  const [requestId] = Object.entries(declared.replaced ?? {}).find(([, { newNode }]) => newNode === name) ?? [];
  return requestId === undefined ? declared : withReplaced(declared, requestId, undefined);
};

const uncounted = (declared: Declared, name: string): Declared => {
  const { beside, ...others } = { ...declared, nodes: without(declared.nodes, name) };
  const left = without(beside ?? {}, name);
  return Object.keys(left).length === 0 ? others : { ...others, beside: left };
};

/** The replicas no longer count these nodes. A node that leaves is asked to in one event and gone in another: it counts once. */
const leave = (declared: Declared, names: readonly string[]): Declared =>
  names.reduce((before, name) => {
    const pool = before.nodes[name];
    if (pool === undefined) return before;
    return superseded({ ...uncounted(before, name), spec: resized(before.spec, pool, -1) }, name);
  }, declared);

/** The removal of a node was cancelled: its pool regains its previous size. */
const rejoin = (declared: Declared, { node, pool }: EventData<'NodeRemovalCancelled'>): Declared => {
  if (declared.nodes[node] !== undefined) return declared;
  return { ...declared, nodes: { ...declared.nodes, [node]: pool }, spec: resized(declared.spec, pool, 1) };
};

/** A node that is not counted, or already being replaced, is not replaced. */
const replace = (declared: Declared, { requestId, node, order }: Replacement): Declared => {
  const pool = declared.nodes[node];
  const isReplaced = Object.values(declared.replaced ?? {}).some((one) => one.node === node);
  if (pool === undefined || isReplaced) return declared;
  return withReplaced(declared, requestId, { node, pool, order, newNode: null, vacant: false });
};

/** The new node is counted from the moment at which the old one is not. */
const exchanged = (declared: Declared, requestId: string, replaced: Replaced): Declared => {
  const { node, pool, newNode } = replaced;
  const nodes = { ...without(declared.nodes, node), ...(newNode === null ? {} : { [newNode]: pool }) };
  return withReplaced(superseded({ ...declared, nodes }, node), requestId, { ...replaced, vacant: true });
};

/**
 * The removal of a node that is being replaced leaves its pool waiting for the new one. Any other removal shrinks the
 * pool.
 */
const vanish = (declared: Declared, name: string): Declared => {
  const found = Object.entries(declared.replaced ?? {}).find(([, { node, vacant }]) => node === name && !vacant);
  return found === undefined ? leave(declared, [name]) : exchanged(declared, ...found);
};

const poolLike = ({ pool, connection, spec, rootDisk, image }: MachinePlan): DeclaredPool => ({
  name: pool,
  replicas: 0,
  connection,
  machineType: spec,
  rootDisk,
  ...(image === undefined ? {} : { image }),
});

/** A machine that no manifest asked for: its pool grows, or is created. */
const grow = (spec: DeclaredSpec, plan: MachinePlan): DeclaredSpec => {
  if (plan.pool === CONTROL_PLANE_POOL) return resized(spec, plan.pool, 1);
  const known = spec.pools.find(({ name }) => name === plan.pool);
  if (known !== undefined && known.replicas > 0) return resized(spec, plan.pool, 1);
  const others = spec.pools.filter(({ name }) => name !== plan.pool);
  // A pool of 0 takes the settings of its first machine; its other fields are kept.
  return { ...spec, pools: [...others, { ...known, ...poolLike(plan), replicas: 1 }] };
};

const plannedReplacement = (declared: Declared, requestId: string, replaced: Replaced, newNode: string): Declared => {
  const known = { ...replaced, newNode };
  return replaced.vacant ? exchanged(declared, requestId, known) : withReplaced(declared, requestId, known);
};

const withPlan = (
  { planned: before = {} }: Declared,
  requestId: string,
  names: readonly string[],
): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries([...Object.entries(without(before, requestId)), [requestId, names] as const].slice(-PLANNED_MAX));

const planned = (declared: Declared, { data }: StoredEvent<'VmsPlanned'>): Declared => {
  const { requestId } = data;
  const replaced = declared.replaced?.[requestId ?? ''];
  const [first] = data.machines;
  if (requestId !== undefined && replaced !== undefined && first !== undefined)
    return plannedReplacement(declared, requestId, replaced, first.name);
  if (requestId !== undefined && declared.abandoned?.includes(requestId) === true) return declared;
  const machines = data.machines.filter(({ name, surge }) => surge === undefined && !(name in declared.nodes));
  const added = Object.fromEntries(machines.map(({ name, pool }) => [name, pool]));
  const nodes = { ...declared.nodes, ...added };
  if (requestId === undefined) return { ...declared, nodes };
  const counted = { ...declared, nodes, planned: withPlan(declared, requestId, Object.keys(added)) };
  const { awaited = {} } = declared.requests[requestId] ?? {};
  const extra = machines.filter(({ pool }) => awaited[pool] === undefined);
  const beside = { ...declared.beside, ...Object.fromEntries(extra.map(({ name }) => [name, true as const])) };
  const before = new Set(declared.spec.pools.map(({ name }) => name));
  const newPools = [...new Set(extra.map(({ pool }) => pool))].filter((pool) => !before.has(pool));
  const others = without(declared.requests, requestId);
  return {
    ...counted,
    ...(Object.keys(beside).length === 0 ? {} : { beside }),
    spec: extra.reduce(grow, declared.spec),
    requests: newPools.length === 0 ? others : { ...others, [requestId]: { awaited: {}, newPools } },
  };
};

const requested = (declared: Declared, { data }: StoredEvent<'NodesRequested'>): Declared => {
  const awaited = Object.fromEntries(
    requestedSets(data).flatMap(({ pool, count }) => (pool === undefined ? [] : [[pool, count] as const])),
  );
  const adopts = data.adopts === undefined ? {} : { adopts: true as const };
  const request: RequestedNodes = { awaited, newPools: [], unplanned: true, ...adopts };
  return { ...declared, requests: { ...declared.requests, [data.requestId]: request } };
};

/** The old node stays; if it no longer exists, its pool shrinks. */
const unreplaced = (declared: Declared, { pool, newNode, vacant }: Replaced): Declared => {
  if (!vacant) return declared;
  return newNode === null ? { ...declared, spec: resized(declared.spec, pool, -1) } : leave(declared, [newNode]);
};

/** What was asked for beside the manifest, or is asked for no longer, is not declared either. */
const undo = (declared: Declared, requestId: string, nodes: readonly string[]): Declared => {
  const request = declared.requests[requestId];
  const replaced = declared.replaced?.[requestId];
  if (replaced !== undefined) return unreplaced(withReplaced(declared, requestId, undefined), replaced);
  const left = { ...leave(declared, nodes), requests: without(declared.requests, requestId) };
  if (request === undefined) return left;
  const spec = Object.entries(request.awaited).reduce(
    (before, [pool, count]) => resized(before, pool, -count),
    left.spec,
  );
  const pools = spec.pools.filter(({ name, replicas }) => replicas > 0 || !request.newPools.includes(name));
  return { ...left, spec: pools.length === spec.pools.length ? spec : { ...spec, pools } };
};

interface Failure {
  readonly cause: string;
  readonly time: string;
}

const withUnmet = (declared: Declared, pools: readonly string[], { cause, time }: Failure): Declared => {
  const unmet = pools.map((pool) => [pool, setBack(declared.unmet?.[pool], cause, time)] as const);
  return unmet.length === 0 ? declared : { ...declared, unmet: { ...declared.unmet, ...Object.fromEntries(unmet) } };
};

/** A request came to nothing. What a manifest declares of it stays declared; what was asked for beside it is as before. */
const comeToNothing = (
  declared: Declared,
  { requestId, nodes }: { readonly requestId: string; readonly nodes: readonly string[] },
  failure: Failure,
): Declared => {
  const replaced = declared.replaced?.[requestId];
  if (replaced !== undefined) {
    const over = withReplaced(declared, requestId, undefined);
    if (!replaced.vacant) return over;
    const left = replaced.newNode === null ? over : uncounted(over, replaced.newNode);
    return withUnmet(left, [replaced.pool], failure);
  }
  const { awaited = {}, adopts } = declared.requests[requestId] ?? {};
  const isDeclared = (name: string): boolean => declared.beside?.[name] === undefined;
  const pools = nodes.flatMap((name) => (isDeclared(name) ? (declared.nodes[name] ?? []) : []));
  const left = nodes.filter(isDeclared).reduce(uncounted, declared);
  const kept = adopts === true || left.requests[requestId] === undefined ? left : withoutAwaited(left, requestId);
  const undone = undo(
    kept,
    requestId,
    nodes.filter((name) => !isDeclared(name)),
  );
  const asked = adopts === true ? [] : Object.keys(awaited);
  return withUnmet(undone, [...new Set([...pools, ...asked])], failure);
};

const withoutAwaited = (declared: Declared, requestId: string): Declared => ({
  ...declared,
  requests: { ...declared.requests, [requestId]: { ...declared.requests[requestId]!, awaited: {} } },
});

const replicasOf = ({ controlPlane, pools }: DeclaredSpec, pool: string): number =>
  (pool === CONTROL_PLANE_POOL ? controlPlane : pools.find(({ name }) => name === pool))?.replicas ?? 0;

/** Number of declared machines of a pool that neither exist nor are requested. */
export const missingOf = (declared: Declared, pool: string): number => {
  if (declared.unmet?.[pool] === undefined) return 0;
  const { spec, nodes, requests, replaced = {} } = declared;
  const counted = Object.values(nodes).filter((of) => of === pool).length;
  const awaited = Object.values(requests).reduce((sum, one) => sum + (one.awaited[pool] ?? 0), 0);
  const coming = Object.values(replaced).filter((one) => one.pool === pool && one.vacant && one.newNode === null);
  return Math.max(0, replicasOf(spec, pool) - counted - awaited - coming.length);
};

/** The same of all pools that lack some. */
export const missingIn = (declared: Declared): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.keys(declared.unmet ?? {}).flatMap((pool) => {
      const missing = missingOf(declared, pool);
      return missing === 0 ? [] : [[pool, missing] as const];
    }),
  );

/** Whether something that is declared has come to nothing, and is tried again later. */
export const hasUnmet = (declared: Declared): boolean =>
  Object.keys(missingIn(declared)).length > 0 ||
  declared.denied !== undefined ||
  Object.values(declared.stopped ?? {}).some(({ open }) => open !== true);

/** Pools that have what is declared lack nothing any more; `time`: what is missing is due at once. */
const whereMissing = (declared: Declared, time?: string): Declared => {
  const { unmet = {}, ...others } = declared;
  const left = Object.entries(unmet).filter(([pool]) => missingOf(declared, pool) > 0);
  if (left.length === 0) return declared.unmet === undefined ? declared : others;
  const due = left.map(([pool, one]) => [pool, time === undefined ? one : dueAtOnce(one, time)] as const);
  return { ...others, unmet: Object.fromEntries(due) };
};

const abandon = (declared: Declared, { requestId, nodes }: EventData<'NodesAbandoned'>): Declared => {
  // Without nodes, the decision predates the plan: all of them leave.
  const leaving = nodes.length > 0 ? nodes : (declared.planned?.[requestId] ?? []);
  const left = undo(declared, requestId, leaving);
  if (declared.requests[requestId]?.unplanned !== true) return left;
  return { ...left, abandoned: [...(left.abandoned ?? []), requestId].slice(-ABANDONED_MAX) };
};

/** The same decision requested the upgrade. */
const upgradingTo = (
  { spec: { version, template: before }, targets, upgrading, template }: Declared,
  to: DeclaredSpec,
): Pick<Declared, 'upgrading'> => {
  const upgradeId = Object.entries(targets).findLast(([, target]) => target === to.version)?.[0];
  if (version === to.version || upgradeId === undefined) return upgrading === undefined ? {} : { upgrading };
  // A pending upgrade has changed nothing: the next one starts from the same version and template.
  if (upgrading !== undefined) return { upgrading: { ...upgrading, upgradeId } };
  const left = before === to.template ? {} : { template: template ?? null };
  return { upgrading: { upgradeId, from: version, ...left } };
};

/** The choice of its template is part of the decision before it. */
const applied = (
  declared: Declared,
  { data: { spec, revision, labels }, meta }: StoredEvent<'ClusterSpecChanged'>,
): Declared => {
  // From here on, nodes that were asked for beside the manifest are part of it.
  const {
    labels: _before,
    choosing,
    template: had,
    bootstrapped: before = {},
    beside: _declared,
    ...others
  } = declared;
  // A later pool of that name has data of its own.
  const bootstrapped = Object.entries(before).filter(([name]) => spec.pools.some((pool) => pool.name === name));
  const upgrading = upgradingTo(declared, spec);
  const template = choosing?.name === spec.template ? choosing : had;
  const after: Declared = {
    ...others,
    ...upgrading,
    ...(template === undefined || spec.template === undefined ? {} : { template }),
    spec,
    revision,
    ...(bootstrapped.length === 0 ? {} : { bootstrapped: Object.fromEntries(bootstrapped) }),
    ...(labels === undefined ? {} : { labels }),
  };
  return whereMissing(after, meta.time);
};

/** A pool is excluded from upgrades, or included again, through any route. */
const held = (declared: Declared, { scope, disabled }: EventData<'UpdatesDisabledSet'>): Declared => {
  const isChange = ({ name, updatesDisabled = false }: DeclaredPool): boolean =>
    scope.kind === 'pool' && name === scope.pool && updatesDisabled !== disabled;
  const { pools } = declared.spec;
  if (!pools.some(isChange)) return declared;
  const changed = pools.map((pool) => (isChange(pool) ? { ...pool, updatesDisabled: disabled } : pool));
  return { ...declared, spec: { ...declared.spec, pools: changed } };
};

/** `template` null: none; undefined: as it is. */
const withTemplate = (declared: Declared, template: TemplateUse | null | undefined): Declared => {
  if (template === undefined) return declared;
  const { template: _left, spec, ...others } = declared;
  const { template: _name, ...own } = spec;
  if (template === null) return { ...others, spec: own };
  return { ...others, template, spec: { ...own, template: template.name } };
};

/** A version that was abandoned, or that cannot be reached, is no longer declared. */
const upgradeEnded = (declared: Declared, upgradeId: string): Declared => {
  const { rollingTo: _version, upgrading, ...others } = declared;
  const ended = { ...others, targets: without(declared.targets, upgradeId) };
  if (upgrading === undefined) return ended;
  if (upgrading.upgradeId !== upgradeId) return { ...ended, upgrading };
  const { template, from: version } = upgrading;
  return withTemplate({ ...ended, spec: { ...declared.spec, version } }, template);
};

/** The effect of an upgrade's event on the declared state. */
const upgraded = (declared: Declared, event: StoredEvent): Declared => {
  switch (event.type) {
    case 'UpgradeRequested': {
      const { upgradeId, target, mode } = event.data;
      if (target.kubernetes === undefined || mode === 'dry-run') return declared;
      return { ...declared, targets: { ...declared.targets, [upgradeId]: target.kubernetes } };
    }
    case 'RolloutStarted': {
      const version = declared.targets[event.data.upgradeId];
      return version === undefined ? declared : { ...declared, rollingTo: version };
    }
    case 'UpgradeRejected':
    case 'RolloutAborted':
      return upgradeEnded(declared, event.data.upgradeId);
    case 'RolloutCompleted': {
      const version = declared.targets[event.data.upgradeId];
      if (version === undefined) return declared;
      const { template: _before, ...ended } = upgradeEnded(declared, event.data.upgradeId);
      const { template, spec, upgrading } = declared;
      // Another version was declared before this one was reached.
      if (upgrading !== undefined && upgrading.upgradeId !== event.data.upgradeId)
        return { ...ended, upgrading: { ...upgrading, from: version } };
      return { ...ended, ...(template === undefined ? {} : { template }), spec: { ...spec, version }, targets: {} };
    }
    default:
      return declared;
  }
};

/** What is kept waits for a retry. */
const failed = (declared: Declared, { type, data, meta }: StoredEvent<'VmsFailed' | 'NodesFailed'>): Declared => {
  if (data.onFailure === 'keep') return declared;
  const nodes = type === 'VmsFailed' ? data.machines : data.nodes;
  const failure = { cause: sentenceOf(data.cause), time: meta.time };
  return comeToNothing(declared, { requestId: data.requestId, nodes }, failure);
};

const withDenials = (declared: Declared, event: StoredEvent): Declared => {
  const { denied: before, ...others } = declared;
  const denied = denialsAfter(before, event);
  if (denied === before) return declared;
  return denied === undefined ? others : { ...others, denied };
};

const withStopped = (declared: Declared, event: StoredEvent): Declared => {
  const { stopped: before, ...others } = declared;
  const stopped = stoppedAfter(before, event);
  if (stopped === before) return declared;
  return stopped === undefined ? others : { ...others, stopped };
};

const change = (declared: Declared, event: StoredEvent): Declared => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return applied(declared, event);
    case 'ClusterTemplateChosen': {
      const { template: name, revision } = event.data;
      return { ...declared, choosing: { name, revision } };
    }
    case 'ClusterPaused':
      return { ...declared, spec: { ...declared.spec, paused: true } };
    case 'ClusterResumed': {
      const { paused: _paused, ...spec } = declared.spec;
      return { ...declared, spec };
    }
    case 'UpdatesDisabledSet':
      return held(declared, event.data);
    case 'ClusterRetryRequested':
      return event.data.again === undefined ? whereMissing(declared, event.meta.time) : declared;
    case 'ClusterReady':
      return whereMissing(declared);
    case 'BootstrapDataGenerated': {
      const { pool, admission } = event.data;
      return { ...declared, bootstrapped: { ...declared.bootstrapped, [pool]: admission } };
    }
    case 'NodesRequested':
      return requested(declared, event);
    case 'VmsPlanned':
      return planned(declared, event);
    case 'NodesRejected': {
      const { requestId, message: cause } = event.data;
      return comeToNothing(declared, { requestId, nodes: [] }, { cause, time: event.meta.time });
    }
    case 'VmsFailed':
    case 'NodesFailed':
      return failed(declared, event);
    case 'NodesAbandoned':
      return abandon(declared, event.data);
    case 'NodeRemovalRequested':
      return leave(declared, [event.data.node]);
    case 'NodeRemovalCancelled':
      return rejoin(declared, event.data);
    case 'NodeReplacementReady': {
      const { requestId } = event.data;
      const replaced = declared.replaced?.[requestId];
      if (replaced === undefined) return declared;
      return withReplaced(exchanged(declared, requestId, replaced), requestId, undefined);
    }
    case 'VmDeleted':
      return vanish(declared, event.data.name);
    default: {
      const replacement = replacementIn(event);
      return replacement === undefined ? upgraded(declared, event) : replace(declared, replacement);
    }
  }
};

/** The version that the nodes of a cluster should have now. */
export const desiredVersion = ({ rollingTo, upgrading, spec }: Declared): DeclaredSpec['version'] =>
  rollingTo ?? upgrading?.from ?? spec.version;

/** The declared spec with the version from before an upgrade in progress. */
export const specBeforeUpgrade = ({ upgrading, spec }: Declared): DeclaredSpec =>
  upgrading === undefined ? spec : { ...spec, version: upgrading.from };

/** The events that change the declared state, or on which a change of it depends. */
const DECLARING: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterRequested',
  'ClusterTemplateChosen',
  'ClusterSpecChanged',
  'ClusterPaused',
  'ClusterResumed',
  'NodesRequested',
  'VmsPlanned',
  'NodesRejected',
  'VmsFailed',
  'NodesFailed',
  'NodesAbandoned',
  'NodeRemovalRequested',
  'NodeRemovalCancelled',
  'NodeReplacementReady',
  'VmDeleted',
  'UpdatesDisabledSet',
  'BootstrapDataGenerated',
  'PoolRolloutRequested',
  'PoolRolloutFailed',
  'PoolRolloutCompleted',
  'ReservationDenied',
  'ReservationConfirmed',
  'ReservationReleased',
  'ClusterRetryRequested',
  'ClusterReady',
  'UpgradeRequested',
  'UpgradeRejected',
  'RolloutStarted',
  'RolloutAborted',
  'RolloutCompleted',
  'ClusterDeleted',
]);

export const isDeclaring = (event: StoredEvent): boolean =>
  DECLARING.has(event.type) || replacementIn(event) !== undefined;

/**
 * The declared state of a cluster after an event; undefined: no such cluster. Also defined for a cluster that was never
 * applied as a manifest: it follows from the same requests.
 */
export const declaredAfter = (declared: Declared | undefined, event: StoredEvent): Declared | undefined => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (declared === undefined || !('uid' in event.data) || event.data.uid !== declared.uid) return declared;
  if (event.type === 'ClusterDeleted') return undefined;
  const changed = withStopped(withDenials(change(declared, event), event), event);
  const isSame = changed.spec === declared.spec && changed.labels === declared.labels;
  return isSame ? changed : { ...changed, seq: event.meta.seq };
};
