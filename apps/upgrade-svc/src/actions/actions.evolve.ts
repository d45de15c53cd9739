import { changesNode, without, type EventData, type NodeName, type StoredEvent } from '@fairlead/contracts';
import {
  actionHooksAfter,
  actionRequestedIn,
  membersAfter,
  needsSnapshot,
  newMember,
  NO_SAVES,
  requestOfMark,
  savesAfter,
  stepBegunIn,
  withMember,
  type RequestedAction,
} from '@fairlead/domain';
import { finalFailure } from '../agents/change.failure.js';
import { isChanged } from './actions.planner.js';
import { BUILDING, evolveLifecycle } from '../lifecycle/lifecycle.evolve.js';
import {
  ABSENT,
  cordons,
  NEW_PROGRESS,
  type Actions,
  type KnownActions,
  type Member,
  type Open,
  type Progress,
} from './actions.state.js';

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): KnownActions => ({
  status: 'known',
  uid,
  ...BUILDING,
  members: {},
  open: {},
  cordons: {},
  permitted: {},
  saves: NO_SAVES,
  drainPolicy: {},
});

const mapValues = <V>(record: Readonly<Record<string, V>>, change: (value: V) => V): Record<string, V> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

const entering = (event: StoredEvent): readonly Member[] =>
  event.type === 'VmsPlanned'
    ? event.data.machines.map((plan) => ({ ...newMember(plan), bootId: null, bootedAt: null, rebootedBy: null }))
    : [];

const changed = (state: KnownActions, name: string, change: Partial<Member>): KnownActions => ({
  ...state,
  members: withMember(state.members, name, change),
});

const gone = (state: KnownActions, name: NodeName): KnownActions => ({
  ...state,
  cordons: without(state.cordons, name),
  permitted: without(state.permitted, name),
});

/** A reboot by a remediation, until it ends. */
const evolveRemediations = (state: KnownActions, event: StoredEvent): KnownActions => {
  switch (event.type) {
    case 'RemediationRequested': {
      const { node, action, requestId } = event.data;
      return action === 'reboot' ? changed(state, node, { rebootedBy: requestId }) : state;
    }
    case 'RemediationSucceeded':
    case 'RemediationFailed': {
      const { node, requestId } = event.data;
      return state.members[node]?.rebootedBy === requestId ? changed(state, node, { rebootedBy: null }) : state;
    }
    default:
      return state;
  }
};

const withOpen = (state: KnownActions, open: Open): KnownActions => ({
  ...state,
  open: { ...state.open, [open.requestId]: open },
});

const withProgress = (
  state: KnownActions,
  requestId: string | undefined,
  node: string,
  change: (progress: Progress, open: Open) => Partial<Progress>,
): KnownActions => {
  const open = requestId === undefined ? undefined : state.open[requestId];
  const progress = open?.nodes[node];
  if (open === undefined || progress === undefined) return state;
  return withOpen(state, { ...open, nodes: { ...open.nodes, [node]: { ...progress, ...change(progress, open) } } });
};

/** Applies a report of the node's agent. */
const withAllowed = (
  state: KnownActions,
  node: string,
  change: (progress: Progress, open: Open) => Partial<Progress>,
): KnownActions => withProgress(state, state.permitted[node], node, change);

const desired = (state: KnownActions, { node, change, revision }: EventData<'DesiredVersionsSet'>): KnownActions => {
  const requestId = requestOfMark(change?.id);
  if (requestId === undefined) {
    const permitted = without(state.permitted, node);
    return permitted === state.permitted ? state : { ...state, permitted };
  }
  const after = { ...state, permitted: { ...state.permitted, [node]: requestId } };
  return withProgress(after, requestId, node, ({ askedRevision }) => ({ askedRevision: askedRevision ?? revision }));
};

const progressed = (state: KnownActions, { data, meta }: StoredEvent<'NodeChangeProgressed'>): KnownActions => {
  const { node, change, phase, status } = data;
  const requestId = requestOfMark(change);
  if (requestId === undefined) return state;
  const isRepair = state.open[requestId]?.action === 'repair';
  return withProgress(state, requestId, node, ({ changingSince }) => {
    if (status === 'failed') {
      const failure = finalFailure(data);
      return failure === undefined ? {} : { failure };
    }
    if (phase !== 'reboot' && !isRepair) return {};
    if (status === 'started') return { changingSince: changingSince ?? meta.time };
    if (isRepair) return {};
    return { booted: changingSince === null ? 'before' : 'ordered' };
  });
};

const evolveNodes = (state: KnownActions, event: StoredEvent): KnownActions => {
  switch (event.type) {
    case 'NodeInitialized':
      return changed(state, event.data.node, { bootId: event.data.bootId });
    case 'NodeRebooted': {
      const { node, bootId, bootedAt = null } = event.data;
      return changed(state, node, { bootId, bootedAt });
    }
    case 'NodeReady': {
      const { node, revision } = event.data;
      return withAllowed(state, node, (progress, open) =>
        isChanged(open, progress) && revision >= (progress.askedRevision ?? Infinity) ? { readyAgain: true } : {},
      );
    }
    case 'NodeRecovered':
      return withAllowed(state, event.data.node, ({ changingSince }) =>
        changingSince === null ? {} : { changingSince: event.meta.time },
      );
    case 'DesiredVersionsSet':
      return desired(state, event.data);
    case 'NodeChangeProgressed':
      return progressed(state, event);
    default:
      return event.type === 'VmDeleted' ? gone(state, event.data.name) : evolveRemediations(state, event);
  }
};

const requested = (state: KnownActions, request: RequestedAction, requestedAt: string): KnownActions => {
  const { requestId, action, drain, drainTimeoutSeconds, maxUnavailable, expiresAt } = request;
  const nodes = request.nodes.map((name): [string, Progress] => [
    name,
    { ...NEW_PROGRESS, bootId: state.members[name]?.bootId ?? null },
  ]);
  return withOpen(state, {
    ...{ requestId, action, drain, drainTimeoutSeconds, maxUnavailable, expiresAt },
    requestedAt,
    cancelled: false,
    failed: false,
    nodes: Object.fromEntries(nodes),
  });
};

/**
 * The request is finished on this node. Its cordon remains if that was requested, or if the node failed while booting.
 */
const ended = (
  state: KnownActions,
  event: StoredEvent<'NodeActionSucceeded' | 'NodeActionFailed' | 'NodeActionVoided'>,
): KnownActions => {
  const { requestId, node } = event.data;
  const open = state.open[requestId];
  const progress = open?.nodes[node];
  if (open === undefined || progress === undefined) return state;
  const nodes = without(open.nodes, node);
  const failed = open.failed || event.type === 'NodeActionFailed';
  const after =
    Object.keys(nodes).length === 0
      ? { ...state, open: without(state.open, requestId) }
      : withOpen(state, { ...open, nodes, failed });
  if (!mayHaveCordoned(state, open, node)) return after;
  const stays = staysCordoned(open, progress, event.type);
  return { ...after, cordons: { ...state.cordons, [node]: { requestId, stays } } };
};

/**
 * Also true for a cordon that was not recorded, because the service may have stopped in between. Removing a missing
 * cordon does nothing.
 */
const mayHaveCordoned = ({ cordons: standing }: KnownActions, open: Open, node: string): boolean => {
  const { startedAt = null, cordoned: byRequest = null } = open.nodes[node] ?? {};
  if (standing[node] !== undefined) return standing[node].requestId === open.requestId;
  return cordons(open) && startedAt !== null && byRequest === null;
};

const staysCordoned = (
  open: Open,
  { changingSince }: Progress,
  type: 'NodeActionSucceeded' | 'NodeActionFailed' | 'NodeActionVoided',
): boolean => {
  if (changesNode(open.action)) return type === 'NodeActionFailed' && changingSince !== null;
  return cordons(open) && type !== 'NodeActionVoided';
};

const cordoned = (
  state: KnownActions,
  { requestId, node, byRequest }: EventData<'NodeActionCordoned'>,
): KnownActions => {
  const after = withProgress(state, requestId, node, () => ({ cordoned: byRequest }));
  return byRequest ? { ...after, cordons: { ...state.cordons, [node]: { requestId, stays: true } } } : after;
};

const evolveOwn = (state: KnownActions, event: StoredEvent): KnownActions => {
  switch (event.type) {
    case 'NodeActionRequested':
    case 'DriftRepairRequested': {
      const request = actionRequestedIn(event);
      return request === undefined ? state : requested(state, request, event.meta.time);
    }
    case 'NodeActionCancelled': {
      const open = state.open[event.data.requestId];
      return open === undefined ? state : withOpen(state, { ...open, cancelled: true });
    }
    case 'NodeActionStarted':
      return withProgress(state, event.data.requestId, event.data.node, () => ({
        startedAt: event.meta.time,
        postponed: null,
      }));
    case 'NodeActionPostponed':
      return withProgress(state, event.data.requestId, event.data.node, () => ({ postponed: event.data.reason }));
    case 'NodeActionCordoned':
      return cordoned(state, event.data);
    case 'NodeActionEvictionRefused': {
      const { requestId, node, budget, message } = event.data;
      return withProgress(state, requestId, node, ({ refusals }) => ({ refusals: [...refusals, budget ?? message] }));
    }
    case 'NodeActionDrained':
      return withProgress(state, event.data.requestId, event.data.node, () => ({ drained: true }));
    case 'NodeActionUncordoned': {
      const { requestId, node } = event.data;
      const after = { ...state, cordons: without(state.cordons, node) };
      return withProgress(after, requestId, node, () => ({ uncordoned: true }));
    }
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
      return ended(state, event);
    default:
      return evolveNodes(state, event);
  }
};

/** Restarts the time limits. */
const resumed = (state: KnownActions, time: string): KnownActions => ({
  ...state,
  open: Object.fromEntries(
    Object.entries(state.open).map(([requestId, open]) => {
      const nodes = Object.entries(open.nodes).map(([node, progress]): [string, Progress] => [
        node,
        {
          ...progress,
          startedAt: progress.startedAt === null ? null : time,
          changingSince: progress.changingSince === null ? null : time,
        },
      ]);
      return [requestId, { ...open, nodes: Object.fromEntries(nodes) }];
    }),
  ),
});

const withoutAwaited = ({ awaitedSnapshot: _awaited, ...progress }: Progress): Progress => progress;

/** Reboots that wait for an etcd snapshot continue: it was taken or, for a given request, it has failed. */
const unawaited = (state: KnownActions, requestId?: string): KnownActions => ({
  ...state,
  open: mapValues(state.open, (open) => ({
    ...open,
    nodes: mapValues(open.nodes, (progress) =>
      requestId === undefined || progress.awaitedSnapshot === requestId ? withoutAwaited(progress) : progress,
    ),
  })),
});

const awaiting = (state: KnownActions, event: StoredEvent<'NodeActionStarted' | 'NodeActionDrained'>): KnownActions => {
  const { requestId, node } = event.data;
  const begun = stepBegunIn(event);
  if (begun === undefined || state.members[node]?.role !== 'control-plane') return state;
  return needsSnapshot(state.saves, event.meta.time)
    ? withProgress(state, requestId, node, () => ({ awaitedSnapshot: begun.requestId }))
    : state;
};

/**
 * A control plane reboots after an etcd snapshot. A failed snapshot does not block a reboot, which may be the remedy.
 */
const withSnapshots = (state: KnownActions, event: StoredEvent): KnownActions => {
  const saves = savesAfter(state.saves, event);
  const after = saves === state.saves ? state : { ...state, saves };
  switch (event.type) {
    case 'NodeActionStarted':
    case 'NodeActionDrained':
      return awaiting(after, event);
    case 'EtcdSnapshotTaken':
      return unawaited(after);
    case 'EtcdSnapshotFailed':
      return unawaited(after, event.data.requestId);
    default:
      return after;
  }
};

/** Applies events about the cluster as a whole. */
const evolveCluster = (state: KnownActions, event: StoredEvent): KnownActions => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return { ...state, drainPolicy: event.data.spec.drain ?? {} };
    case 'ClusterResumed':
      return resumed(state, event.meta.time);
    default:
      return evolveLifecycle(state, event) ?? evolveOwn(state, event);
  }
};

const withHooks = (state: KnownActions, event: StoredEvent): KnownActions => {
  const { hooks: before, ...others } = state;
  const hooks = actionHooksAfter(before, event);
  if (hooks === before) return state;
  return hooks === undefined ? others : { ...others, hooks };
};

export const evolve = (state: Actions, event: StoredEvent): Actions => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  if (event.type === 'ClusterDeleted') return ABSENT;
  const members = membersAfter(state.members, event, entering(event));
  const after = members === state.members ? state : { ...state, members };
  return withHooks(withSnapshots(evolveCluster(after, event), event), event);
};
