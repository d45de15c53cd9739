import type { Cause, EventData, NodeName, StoredEvent, UpgradeId } from '@fairlead/contracts';
import { readinessAfter, replacementIn, type Readiness, type ReadinessEvent, type Replacement } from '@fairlead/domain';

/** Nodes whose replacement was explicitly requested, whatever their machines are like. */
export interface RequestedReplacement {
  readonly nodes: readonly NodeName[];
  /** Empty if not given. */
  readonly reason: string;
  /** New nodes that joined as a replacement for one of them. */
  readonly joined: readonly NodeName[];
}

/** The rollout of a pool, because its machine template was changed, or replacements were requested. */
export interface PoolRollout {
  readonly requestId: string;
  /** Absent: nodes whose machines differ from the declaration are replaced. */
  readonly asked?: RequestedReplacement;
  /** How many of its replacements began. Request IDs continue from here, so that they are never reused. */
  readonly begun: number;
  /** Why no further replacement begins; null: they continue. */
  readonly cause: Cause | null;
  /** Whether the failure is stated. */
  readonly failed: boolean;
  /** The upgrade that replaces the nodes for another version; absent: none. */
  readonly upgradeId?: UpgradeId;
  /** That upgrade is paused or halted: no further replacement begins. */
  readonly isPaused?: true;
}

interface UnderWay {
  readonly pool: string;
  readonly node: NodeName;
  /** Whether the new node has joined the cluster. */
  readonly ready: boolean;
}

/** The rollouts of a cluster, and the node states that they depend on. */
export interface Rollouts {
  readonly pools: Readonly<Record<string, PoolRollout>>;
  /** Replacements of unfinished rollouts, by request. */
  readonly underWay: Readonly<Record<string, UnderWay>>;
  /** Nodes that are Ready, and nodes whose heartbeat is missing. */
  readonly ready: Readonly<Record<string, true>>;
  readonly lost: Readonly<Record<string, true>>;
  /** Since when nodes are continuously Ready (RFC 3339); absent: they were Ready before this was recorded. */
  readonly readySince?: Readonly<Record<string, string>>;
  /** The basis of `ready`; absent: Ready nodes were reported as such. */
  readonly readiness?: Readonly<Record<string, Readiness>>;
  /** Why nodes and pools are excluded from changes. */
  readonly heldNodes: Readonly<Record<string, string>>;
  readonly heldPools: Readonly<Record<string, string>>;
  /** The initial control plane; absent: no machine is planned. */
  readonly initial?: NodeName;
}

export const NO_ROLLOUTS: Rollouts = { pools: {}, underWay: {}, ready: {}, lost: {}, heldNodes: {}, heldPools: {} };

type Of<Value> = Readonly<Record<string, Value>>;

const set = <Value>(record: Of<Value>, key: string, value: Value): Of<Value> => ({ ...record, [key]: value });

const omit = <Value>(record: Of<Value>, gone: string): Of<Value> => {
  if (!(gone in record)) return record;
  const { [gone]: _gone, ...others } = record;
  return others;
};

const change = (rollouts: Rollouts, pool: string, to: Partial<PoolRollout>): Rollouts => {
  const rollout = rollouts.pools[pool];
  return rollout === undefined ? rollouts : { ...rollouts, pools: set(rollouts.pools, pool, { ...rollout, ...to }) };
};

const rolloutOf = ({
  requestId,
  nodes,
  reason = '',
}: Pick<EventData<'PoolRolloutRequested'>, 'requestId' | 'nodes' | 'reason'>): PoolRollout => ({
  requestId,
  ...(nodes === undefined ? {} : { asked: { nodes, reason, joined: [] } }),
  begun: 0,
  cause: null,
  failed: false,
});

const planned = (rollouts: Rollouts, { requestId, node, rollout: id }: Replacement): Rollouts => {
  const [pool, rollout] = Object.entries(rollouts.pools).find(([, one]) => one.requestId === id) ?? [];
  if (pool === undefined || rollout === undefined) return rollouts;
  const underWay = set(rollouts.underWay, requestId, { pool, node, ready: false });
  return { ...change(rollouts, pool, { begun: rollout.begun + 1 }), underWay };
};

/** Ends the request. A rolled back, rejected or abandoned replacement is over; a kept one continues with a retry. */
const failed = (rollouts: Rollouts, requestId: string, cause: Cause, isOver: boolean): Rollouts => {
  const one = rollouts.underWay[requestId];
  if (one === undefined) return rollouts;
  const underWay = isOver ? omit(rollouts.underWay, requestId) : rollouts.underWay;
  return change({ ...rollouts, underWay }, one.pool, { cause });
};

const abandoned = (rollouts: Rollouts, { requestId }: EventData<'NodesAbandoned'>): Rollouts => {
  const [pool] = Object.entries(rollouts.pools).find(([, one]) => one.requestId === requestId) ?? [];
  if (pool !== undefined) return { ...rollouts, pools: omit(rollouts.pools, pool) };
  const cause = { operation: 'replace the node', target: requestId, message: 'it was abandoned' };
  return failed(rollouts, requestId, cause, true);
};

const stuck = (rollouts: Rollouts, data: EventData<'BootstrapStepFailed'>): Rollouts => {
  const one = Object.values(rollouts.underWay).find(({ node }) => node === data.node);
  return one === undefined || data.step !== 'RemoveNode' || data.nextAttemptAt !== null
    ? rollouts
    : change(rollouts, one.pool, { cause: data.cause });
};

const joined = (
  rollouts: Rollouts,
  { requestId, newNode }: EventData<'NodeReplacementReady'>,
  isGone: boolean,
): Rollouts => {
  const one = rollouts.underWay[requestId];
  if (one === undefined) return rollouts;
  const underWay = isGone
    ? omit(rollouts.underWay, requestId)
    : set(rollouts.underWay, requestId, { ...one, ready: true });
  const asked = rollouts.pools[one.pool]?.asked;
  const proven = asked === undefined ? {} : { asked: { ...asked, joined: [...asked.joined, newNode] } };
  return change({ ...rollouts, underWay }, one.pool, proven);
};

const gone = (rollouts: Rollouts, name: string): Rollouts => ({
  ...rollouts,
  ready: omit(rollouts.ready, name),
  lost: omit(rollouts.lost, name),
  readiness: omit(rollouts.readiness ?? {}, name),
  readySince: omit(rollouts.readySince ?? {}, name),
  underWay: Object.fromEntries(
    Object.entries(rollouts.underWay).filter(([, { node, ready }]) => node !== name || !ready),
  ),
});

const held = (rollouts: Rollouts, { scope, disabled, reason }: EventData<'UpdatesDisabledSet'>): Rollouts => {
  const to = (record: Of<string>, name: string) => (disabled ? set(record, name, reason) : omit(record, name));
  return scope.kind === 'node'
    ? { ...rollouts, heldNodes: to(rollouts.heldNodes, scope.node) }
    : { ...rollouts, heldPools: to(rollouts.heldPools, scope.pool) };
};

const retried = (rollouts: Rollouts): Rollouts => ({
  ...rollouts,
  pools: Object.fromEntries(
    Object.entries(rollouts.pools).map(([pool, one]) => [pool, { ...one, cause: null, failed: false }]),
  ),
});

const begunWith = (rollouts: Rollouts, { machines }: EventData<'VmsPlanned'>): Rollouts => {
  const initial = machines.find(({ leader }) => leader)?.name;
  return initial === undefined ? rollouts : { ...rollouts, initial };
};

/** null: it is not Ready. */
const withReadySince = (rollouts: Rollouts, node: string, since: string | null): Rollouts => {
  const { readySince = {} } = rollouts;
  return { ...rollouts, readySince: since === null ? omit(readySince, node) : set(readySince, node, since) };
};

const withReadiness = (rollouts: Rollouts, { type, data: { node }, meta }: StoredEvent<ReadinessEvent>): Rollouts => {
  const { ready, readiness = {} } = rollouts;
  const after = readinessAfter(readiness[node] ?? { ready: ready[node] === true }, type);
  return {
    ...(after.ready === (ready[node] === true)
      ? rollouts
      : withReadySince(rollouts, node, after.ready ? meta.time : null)),
    ready: after.ready ? set(ready, node, true) : omit(ready, node),
    readiness: set(readiness, node, after),
  };
};

/** Applies events about nodes. */
const nodesAfter = (rollouts: Rollouts, event: StoredEvent): Rollouts => {
  switch (event.type) {
    case 'NodeReady':
      return { ...withReadiness(rollouts, event), lost: omit(rollouts.lost, event.data.node) };
    case 'NodeNotReady':
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
      return withReadiness(rollouts, event);
    case 'NodeLost':
      return { ...rollouts, lost: set(rollouts.lost, event.data.node, true) };
    case 'NodeRecovered': {
      const { node } = event.data;
      const recovered = { ...rollouts, lost: omit(rollouts.lost, node) };
      return rollouts.ready[node] === true ? withReadySince(recovered, node, event.meta.time) : recovered;
    }
    case 'UpdatesDisabledSet':
      return held(rollouts, event.data);
    case 'VmsPlanned':
      return begunWith(rollouts, event.data);
    case 'InitialControlPlaneChanged':
      return { ...rollouts, initial: event.data.to };
    default: {
      const replacement = replacementIn(event);
      return replacement?.rollout === undefined ? rollouts : planned(rollouts, replacement);
    }
  }
};

const replacingFor = (rollouts: Rollouts, data: EventData<'PoolReplacementRequested'>): Rollouts => {
  const { pool, requestId, nodes, version, upgradeId } = data;
  const rollout = { ...rolloutOf({ requestId, nodes, reason: `its pool gets ${version} by new nodes` }), upgradeId };
  return { ...rollouts, pools: set(rollouts.pools, pool, rollout) };
};

/** Applies a change to the rollouts of an upgrade; undefined: they end, and what has begun is completed. */
const ofUpgrade = (
  rollouts: Rollouts,
  { upgradeId }: { readonly upgradeId: UpgradeId },
  to: ((rollout: PoolRollout) => PoolRollout) | undefined,
): Rollouts => {
  const pools = Object.entries(rollouts.pools);
  if (!pools.some(([, one]) => one.upgradeId === upgradeId)) return rollouts;
  return {
    ...rollouts,
    pools: Object.fromEntries(
      pools.flatMap(([pool, one]) => {
        if (one.upgradeId !== upgradeId) return [[pool, one]];
        return to === undefined ? [] : [[pool, to(one)]];
      }),
    ),
  };
};

const paused = (rollout: PoolRollout): PoolRollout => ({ ...rollout, isPaused: true });
const resumed = ({ isPaused: _isPaused, ...rollout }: PoolRollout): PoolRollout => rollout;

/** Applies the events of upgrades that replace nodes. */
const upgradesAfter = (rollouts: Rollouts, event: StoredEvent): Rollouts => {
  switch (event.type) {
    case 'PoolReplacementRequested':
      return replacingFor(rollouts, event.data);
    case 'RolloutPaused':
    case 'RolloutHalted':
      return ofUpgrade(rollouts, event.data, paused);
    case 'RolloutResumed':
      return ofUpgrade(rollouts, event.data, resumed);
    case 'UpgradeAbortRequested':
    case 'RolloutAborted':
      return ofUpgrade(rollouts, event.data, undefined);
    default:
      return nodesAfter(rollouts, event);
  }
};

/** `isThere`: whether the machine existed before the event. */
export const rolloutsAfter = (rollouts: Rollouts, event: StoredEvent, isThere: (name: string) => boolean): Rollouts => {
  switch (event.type) {
    case 'PoolRolloutRequested':
      return { ...rollouts, pools: set(rollouts.pools, event.data.pool, rolloutOf(event.data)) };
    case 'PoolRolloutCompleted':
      return { ...rollouts, pools: omit(rollouts.pools, event.data.pool) };
    case 'PoolRolloutFailed':
      return change(rollouts, event.data.pool, { failed: true });
    case 'NodesRejected': {
      const { requestId, message } = event.data;
      return failed(rollouts, requestId, { operation: 'validate the request', target: requestId, message }, true);
    }
    case 'VmsFailed':
    case 'NodesFailed':
      return failed(rollouts, event.data.requestId, event.data.cause, event.data.onFailure === 'rollback');
    case 'NodesAbandoned':
      return abandoned(rollouts, event.data);
    case 'BootstrapStepFailed':
      return stuck(rollouts, event.data);
    case 'NodeReplacementReady':
      return joined(rollouts, event.data, !isThere(event.data.node));
    case 'VmDeleted':
      return gone(rollouts, event.data.name);
    case 'ClusterRetryRequested':
      return retried(rollouts);
    default:
      return upgradesAfter(rollouts, event);
  }
};
