import type { ClusterUid, EventData, Fact } from '@fairlead/contracts';
import { hasPassed, isAwaited } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { evolve } from './actions.evolve.js';
import type { ActionFact } from './actions.planner.js';
import { ABSENT, type Actions, type KnownActions } from './actions.state.js';

/** The result of a task. Known results are not stated again. */
export type RecordAction = Command<
  'RecordAction',
  { readonly uid: ClusterUid; readonly fact: ActionFact | Fact<'EtcdLeaderMoved'> }
>;

/** Webhooks may vary their denial message each time. */
const REFUSALS_MAX = 50;

/** Whether the hook belongs to a drain that has yet to begin, or that is done. */
const isHookAwaited = (state: KnownActions, data: Omit<EventData<'NodeActionHookSucceeded'>, 'message'>): boolean => {
  const { requestId: operation, ...about } = data;
  const moment = { point: data.point, node: data.node, operation };
  const isDue =
    data.point === 'BeforeNodeDrain'
      ? state.open[operation]?.nodes[data.node]?.cordoned === null
      : hasPassed(state.hooks, moment);
  return isDue && isAwaited(state.hooks, { ...about, operation });
};

const isNews = (state: KnownActions, { type, data }: RecordAction['data']['fact']): boolean => {
  // The leader was moved, whatever the state of the request.
  if (type === 'EtcdLeaderMoved') return true;
  const progress = state.open[data.requestId]?.nodes[data.node];
  switch (type) {
    case 'NodeActionCordoned':
      // The request is finished on this node, but the removal of its cordon must still be recorded.
      if (progress === undefined) return data.byRequest && state.cordons[data.node] === undefined;
      return progress.cordoned === null;
    case 'NodeActionEvictionRefused':
      return (
        progress !== undefined &&
        progress.refusals.length < REFUSALS_MAX &&
        !progress.refusals.includes(data.budget ?? data.message)
      );
    case 'NodeActionDrained':
      return progress !== undefined && !progress.drained;
    case 'NodeActionUncordoned':
      return state.cordons[data.node]?.requestId === data.cordonedBy;
    case 'NodeActionHookBlocked':
    case 'NodeActionHookSucceeded':
    case 'NodeActionHookFailed':
      return isHookAwaited(state, data);
    default:
      return progress !== undefined;
  }
};

/**
 * Requests about nodes. In the stream of rollouts, so that an upgrade and a node action never begin at the same time.
 */
export const actions: Decider<Actions, RecordAction, RecordAction['data']['fact']> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data: { uid, fact } }) =>
    state.status === 'absent' || state.uid !== uid || !isNews(state, fact) ? nothing : [fact],
};
