import { without, type EventData, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { NO_HOLDS, withHold } from '../holds/holds.js';
import { BUILDING, evolveLifecycle } from '../lifecycle/lifecycle.evolve.js';
import { RECURRENCES_MAX } from './drift.planner.js';
import { ABSENT, type DriftState, type KnownDrift } from './drift.state.js';

const begin = ({ data: { uid } }: StoredEvent<'ClusterRequested'>): KnownDrift => ({
  status: 'known',
  uid,
  ...BUILDING,
  isReportedOnly: false,
  holds: NO_HOLDS,
  pools: {},
  drifts: {},
  repairs: {},
  past: {},
  suspended: {},
  requests: 0,
});

const asDesired = (state: KnownDrift, node: NodeName): KnownDrift =>
  state.drifts[node] === undefined ? state : { ...state, drifts: without(state.drifts, node) };

const gone = (state: KnownDrift, node: NodeName): KnownDrift => ({
  ...asDesired(state, node),
  repairs: without(state.repairs, node),
  past: without(state.past, node),
  suspended: without(state.suspended, node),
  pools: without(state.pools, node),
});

const requested = (state: KnownDrift, { data, meta }: StoredEvent<'DriftRepairRequested'>): KnownDrift => {
  const { node, requestId, items, drain } = data;
  const before = state.past[node] ?? {};
  const counted = Object.fromEntries(
    items.map((item) => [item, [...(before[item] ?? []), meta.time].slice(-RECURRENCES_MAX)]),
  );
  return {
    ...state,
    requests: state.requests + 1,
    repairs: {
      ...state.repairs,
      [node]: {
        ...{ requestId, node, at: meta.time, isPermitted: drain === true },
        ...(drain === undefined ? {} : { drained: { isOver: false } }),
      },
    },
    past: { ...state.past, [node]: { ...before, ...counted } },
    suspended: without(state.suspended, node),
  };
};

const permitted = (state: KnownDrift, { node, repair }: EventData<'DesiredVersionsSet'>): KnownDrift => {
  const open = state.repairs[node];
  if (open === undefined || open.isPermitted || open.requestId !== repair) return state;
  return { ...state, repairs: { ...state.repairs, [node]: { ...open, isPermitted: true } } };
};

/** The drain and what followed it are over. */
const drainedRepairOver = (
  state: KnownDrift,
  { node, requestId }: { readonly node: NodeName; readonly requestId: string },
): KnownDrift => {
  const open = state.repairs[node];
  if (open?.drained === undefined || open.requestId !== requestId) return state;
  return { ...state, repairs: { ...state.repairs, [node]: { ...open, drained: { isOver: true } } } };
};

/** Declaring repairs again starts them at once. */
const declared = (state: KnownDrift, { spec: { drift } }: EventData<'ClusterSpecChanged'>): KnownDrift => {
  const isReportedOnly = drift === 'report';
  if (isReportedOnly === state.isReportedOnly) return state;
  return { ...state, isReportedOnly, suspended: {}, past: {} };
};

const evolveNodes = (state: KnownDrift, event: StoredEvent): KnownDrift => {
  switch (event.type) {
    case 'VmsPlanned': {
      const planned = Object.fromEntries(event.data.machines.map(({ name, pool }) => [name, pool]));
      return { ...state, pools: { ...state.pools, ...planned } };
    }
    case 'NodeDiverged': {
      const { node, differences } = event.data;
      return { ...state, drifts: { ...state.drifts, [node]: { node, differences } } };
    }
    case 'NodeInitialized':
    case 'NodeReady':
      return asDesired(state, event.data.node);
    case 'DesiredVersionsSet':
      return permitted(state, event.data);
    case 'DriftRepairRequested':
      return requested(state, event);
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
      return drainedRepairOver(state, event.data);
    case 'DriftRepaired':
      return { ...state, repairs: without(state.repairs, event.data.node) };
    case 'DriftRepairSuspended': {
      const { node, until } = event.data;
      const past = without(state.past, node);
      return {
        ...state,
        past,
        repairs: without(state.repairs, node),
        suspended: { ...state.suspended, [node]: until },
      };
    }
    case 'NodeRemoved':
      return gone(state, event.data.node);
    case 'VmDeleted':
      return gone(state, event.data.name);
    case 'ClusterSpecChanged':
      return declared(state, event.data);
    case 'UpdatesDisabledSet':
      return { ...state, holds: withHold(state.holds, event.data) };
    default:
      return state;
  }
};

export const evolve = (state: DriftState, event: StoredEvent): DriftState => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  if (event.type === 'ClusterDeleted') return ABSENT;
  return evolveLifecycle(state, event) ?? evolveNodes(state, event);
};
