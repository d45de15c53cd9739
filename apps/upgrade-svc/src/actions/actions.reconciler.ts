import type { ClusterUid, HookPoint, NodeActionKind, NodeName, RebootCondition } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { actions, type RecordAction } from './actions.decider.js';
import { aboutOf, entriesOf, factsOf, hookCalls, momentsOf, stepOf, type Entry, type Step } from './actions.planner.js';
import type { Actions, KnownActions } from './actions.state.js';

/** Data of every task: the request and the node. */
export interface ActionTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
  readonly action: NodeActionKind;
  readonly node: NodeName;
}

/** The agent may reboot the node, unless it has booted since the request, or repair it. */
export interface AllowChange extends ActionTask {
  /** Absent: it is repaired. */
  readonly unlessBooted?: RebootCondition;
}

/** The request whose cordon is removed, possibly on behalf of another one. */
export interface UncordonNode extends ActionTask {
  readonly cordonedBy: string;
}

/** A hook is called before or after a drain. */
export interface CallNodeActionHook {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
  readonly node: NodeName;
  readonly point: HookPoint;
  readonly hook: string;
}

const REASONS: Readonly<Record<Step, string>> = {
  CordonNode: 'it was requested',
  DrainNode: 'it was requested',
  AllowChange: 'a reboot or a repair was requested',
  UncordonNode: 'someone asked for it, or the change is over',
};

const stepping = (state: KnownActions, entry: Entry): readonly Task[] => {
  const step = stepOf(state, entry);
  if (step === undefined) return [];
  const { open, node, progress } = entry;
  const about: ActionTask = { ...aboutOf(state, entry) };
  const task = { type: step, key: `${step}/${node}/${open.requestId}`, reason: REASONS[step] };
  switch (step) {
    case 'AllowChange': {
      const unlessBooted = { since: open.requestedAt, bootId: progress.bootId };
      const data: AllowChange = { ...about, ...(open.action === 'reboot' ? { unlessBooted } : {}) };
      return [{ ...task, data }];
    }
    case 'UncordonNode': {
      const data: UncordonNode = { ...about, cordonedBy: state.cordons[node]?.requestId ?? open.requestId };
      return [{ ...task, data }];
    }
    case 'CordonNode':
    case 'DrainNode':
      return [{ ...task, data: about }];
  }
};

const isUnderWay = ({ open }: KnownActions, requestId: string, node: string): boolean =>
  open[requestId]?.nodes[node] !== undefined;

const asking = (state: KnownActions, now: string): readonly Task[] =>
  hookCalls(state, now).flatMap(({ point, node, operation: requestId, hook: { name: hook }, attempt }) => {
    if (node === undefined || requestId === undefined) return [];
    const data: CallNodeActionHook = { uid: state.uid, requestId, node, point, hook };
    const key = `CallNodeActionHook/${point}/${node}/${requestId}/${hook}/${attempt}`;
    return [{ type: 'CallNodeActionHook', key, reason: `${hook} is asked at ${point}`, data }];
  });

/** Tasks that remove what a finished request left on a node. */
const cleaning = (state: KnownActions): readonly Task[] => {
  const { uid, cordons, permitted } = state;
  const lifted = Object.entries(cordons).filter(
    ([node, { requestId, stays }]) => !stays && !isUnderWay(state, requestId, node),
  );
  const withdrawn = Object.entries(permitted).filter(([node, requestId]) => !isUnderWay(state, requestId, node));
  return [
    ...lifted.map(([node, { requestId }]): Task => {
      const about = { uid, requestId, action: 'reboot', node: node as NodeName } as const;
      const data: UncordonNode = { ...about, cordonedBy: requestId };
      return { type: 'UncordonNode', key: `UncordonNode/${node}/${requestId}`, reason: 'the request is over', data };
    }),
    ...withdrawn.map(([node, requestId]): Task => {
      const data: ActionTask = { uid, requestId, action: 'reboot', node: node as NodeName };
      return { type: 'EndChange', key: `EndChange/${node}/${requestId}`, reason: 'the request is over', data };
    }),
  ];
};

/** Tasks whose failure fails the request. */
const FAILING: ReadonlySet<string> = new Set<Step>(['CordonNode', 'DrainNode', 'AllowChange', 'UncordonNode']);

/** Performs requests to reboot, drain, cordon, uncordon and repair nodes, node by node. */
export const actionsReconciler: Reconciler<Actions, RecordAction, RecordAction['data']['fact']> = {
  name: 'actions',
  version: 6,
  context: 'rollout',
  decider: actions,
  generation: (state) => (state.status === 'absent' ? '' : state.uid),
  facts: (state, now) => (state.status === 'absent' ? [] : factsOf(state, now)),

  tasks: (state, now) =>
    state.status === 'absent' || state.life === 'deleting'
      ? []
      : [...entriesOf(state).flatMap((entry) => stepping(state, entry)), ...cleaning(state), ...asking(state, now)],

  wakeAt: (state, now) =>
    state.status === 'absent' || state.life === 'deleting'
      ? null
      : (momentsOf(state)
          .filter((moment) => moment > now)
          .toSorted()[0] ?? null),

  failed: (state, { type, data }, { cause, nextAttemptAt }) => {
    if (state.status === 'absent' || nextAttemptAt !== null || !FAILING.has(type)) return [];
    const { uid, requestId, action, node } = data as ActionTask;
    if (!isUnderWay(state, requestId, node)) return [];
    return [{ type: 'NodeActionFailed', data: { uid, requestId, action, node, cause } }];
  },
};
