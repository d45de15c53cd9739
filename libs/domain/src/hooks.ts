import { type StoredEvent, holdsStep, type HookPoint, type NodeName, type Hook } from '@fairlead/contracts';

/** A hook point in the lifecycle of a cluster, or of one of its nodes. */
export interface Moment {
  readonly point: HookPoint;
  /** Absent: the point concerns the cluster. */
  readonly node?: NodeName | undefined;
  /** The upgrade operation, or request about nodes, that it belongs to: a node may be drained once for each. */
  readonly operation?: string | undefined;
}

export interface HookCall extends Moment {
  readonly hook: Hook;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** RFC 3339: when it first answered without letting the step proceed; absent: not called yet. */
  readonly since?: string;
}

interface Progress {
  readonly done: boolean;
  readonly attempt: number;
  /** RFC 3339. */
  readonly since: string;
  /** RFC 3339: its last answer. */
  readonly answeredAt: string;
  /** RFC 3339; null: immediately, or never again. */
  readonly nextAttemptAt: string | null;
}

/** The hooks of a cluster and their progress. A plain JSON value. */
export interface HookState {
  readonly declared: readonly Hook[];
  readonly calls: Readonly<Record<string, Progress>>;
  /** Points that were reached and whose after-hooks are not finished. */
  readonly passed: readonly Moment[];
}

/** If hooks never finish, only the latest points are kept. */
const PASSED_MAX = 200;

const keyOf = ({ point, node = '' as NodeName, operation }: Moment, hook: string): string =>
  [point, node, hook, operation].filter((part) => part !== undefined).join('/');

const concerned = ({ declared }: HookState, { point }: Moment): readonly Hook[] =>
  declared.filter(({ points }) => points.includes(point));

const undone = (state: HookState, moment: Moment): readonly Hook[] =>
  concerned(state, moment).filter(({ name }) => state.calls[keyOf(moment, name)]?.done !== true);

/** Whether a step must wait for hooks of the point before it. */
export const isHeld = (state: HookState | undefined, moment: Moment): boolean =>
  state !== undefined && undone(state, moment).length > 0;

/** When a hook of the point last answered; null: none has. */
export const lastAnswerAt = (state: HookState | undefined, moment: Moment): string | null =>
  state === undefined
    ? null
    : (concerned(state, moment)
        .flatMap(({ name }) => state.calls[keyOf(moment, name)]?.answeredAt ?? [])
        .toSorted()
        .at(-1) ?? null);

/**
 * The next hook to call, and when; undefined: none is left. Hooks are called one by one, in the order of the manifest.
 */
export const nextCall = (
  state: HookState | undefined,
  moment: Moment,
): { readonly call: HookCall; readonly at: string | null } | undefined => {
  const [hook] = state === undefined ? [] : undone(state, moment);
  if (state === undefined || hook === undefined) return undefined;
  const progress = state.calls[keyOf(moment, hook.name)];
  const call = { ...moment, hook, attempt: (progress?.attempt ?? 0) + 1 };
  return {
    call: progress === undefined ? call : { ...call, since: progress.since },
    at: progress?.nextAttemptAt ?? null,
  };
};

const isSame = (one: Moment, other: Moment): boolean =>
  one.point === other.point && one.node === other.node && one.operation === other.operation;

/** Whether the point after a step was reached and its hooks are not finished. */
export const hasPassed = (state: HookState | undefined, moment: Moment): boolean =>
  state?.passed.some((one) => isSame(one, moment)) === true;

/** Whether that attempt has not been recorded yet. */
export const isAwaited = (
  state: HookState | undefined,
  { hook, attempt, ...moment }: Moment & { readonly hook: string; readonly attempt: number },
): boolean => {
  const next = nextCall(state, moment);
  return next?.call.hook.name === hook && next.call.attempt === attempt;
};

const passedBy = (event: StoredEvent, isCreated: boolean): Moment | undefined => {
  switch (event.type) {
    case 'ControlPlaneInitialized':
      return { point: 'AfterControlPlaneInitialized' };
    case 'ClusterReady':
      return isCreated ? undefined : { point: 'AfterCreate' };
    case 'NodeDrained':
      return { point: 'AfterNodeDrain', node: event.data.node };
    case 'NodeRemoved':
      return { point: 'AfterNodeDelete', node: event.data.node };
    default:
      return undefined;
  }
};

const withPassed = (state: HookState, moment: Moment | undefined): HookState =>
  moment === undefined || undone(state, moment).length === 0
    ? state
    : { ...state, passed: [...state.passed, moment].slice(-PASSED_MAX) };

/**
 * Removes finished entries to keep the state small: points whose hooks are finished, and calls about nodes that no
 * longer exist.
 */
const tidied = (state: HookState, isGone: (key: string) => boolean = () => false): HookState => {
  const passed = state.passed.filter((moment) => undone(state, moment).length > 0);
  const isOpen = (key: string): boolean =>
    passed.some((moment) => concerned(state, moment).some(({ name }) => keyOf(moment, name) === key));
  const calls = Object.entries(state.calls).filter(([key]) => !isGone(key) || isOpen(key));
  return { ...state, passed, calls: Object.fromEntries(calls) };
};

const isAbout =
  (node: string, operation?: string) =>
  (key: string): boolean =>
    key.includes(`/${node}/`) && (operation === undefined || key.endsWith(`/${operation}`));

type HookOutcomeType = 'HookBlocked' | 'HookSucceeded' | 'HookFailed';
/** Prefix of the facts: bootstrap-svc's, an upgrade's, or those of a request about nodes. */
export type HookFactPrefix = '' | 'Upgrade' | 'NodeAction';
export type HookFactType<Prefix extends HookFactPrefix = HookFactPrefix> = `${Prefix}${HookOutcomeType}`;

const withProgress = (state: HookState, { data, meta }: StoredEvent<HookFactType>): HookState => {
  const key = keyOf('requestId' in data ? { ...data, operation: data.requestId } : data, data.hook);
  const nextAttemptAt = 'nextAttemptAt' in data ? data.nextAttemptAt : null;
  const progress = {
    done: nextAttemptAt === null,
    attempt: data.attempt,
    since: state.calls[key]?.since ?? meta.time,
    answeredAt: meta.time,
    nextAttemptAt,
  };
  return tidied({ ...state, calls: { ...state.calls, [key]: progress } });
};

/** Someone skipped a blocking hook. If it blocks nothing, nothing changes: it is called at its next point. */
const withSkipped = (state: HookState, { data, meta }: StoredEvent<'HookSkipped'>): HookState => {
  const skipped = keyOf({ point: data.point, node: data.node }, data.hook);
  const calls = Object.entries(state.calls).map(([key, progress]): [string, Progress] =>
    progress.done || !(key === skipped || key.startsWith(`${skipped}/`))
      ? [key, progress]
      : [key, { ...progress, done: true, answeredAt: meta.time, nextAttemptAt: null }],
  );
  return { ...state, calls: Object.fromEntries(calls) };
};

const withDeclared = (
  state: HookState | undefined,
  { data }: StoredEvent<'ClusterSpecChanged'>,
): HookState | undefined => {
  const { hooks: declared = [] } = data.spec;
  return declared.length === 0 ? undefined : { calls: {}, passed: [], ...state, declared };
};

/** undefined: the cluster declares no hooks. `isCreated`: it was Ready before. */
export const hooksAfter = (
  state: HookState | undefined,
  event: StoredEvent,
  { isCreated }: { readonly isCreated: boolean },
): HookState | undefined => {
  if (event.type === 'ClusterSpecChanged') return withDeclared(state, event);
  if (state === undefined) return undefined;
  if (event.type === 'HookSkipped') return withSkipped(state, event);
  switch (event.type) {
    case 'HookBlocked':
    case 'HookSucceeded':
    case 'HookFailed':
      return withProgress(state, event);
    case 'VmDeleted':
      return tidied(state, isAbout(event.data.name));
    case 'NodeRemovalCancelled': // Its hooks are called again if it leaves later.
      return tidied(state, isAbout(event.data.node));
    default: {
      const moment = passedBy(event, isCreated);
      return moment === undefined ? state : withPassed(state, moment);
    }
  }
};

/**
 * The same for upgrades. A plan begins without calls, so that hooks are called for each upgrade. `isDrain`: whether the
 * node of NodeEmptied was drained, not only relieved of etcd leadership.
 */
export const upgradeHooksAfter = (
  state: HookState | undefined,
  event: StoredEvent,
  { isDrain }: { readonly isDrain: boolean },
): HookState | undefined => {
  if (event.type === 'ClusterSpecChanged') return withDeclared(state, event);
  if (state === undefined) return undefined;
  if (event.type === 'HookSkipped') return withSkipped(state, event);
  switch (event.type) {
    case 'UpgradePlanned':
      return { ...state, calls: {}, passed: [] };
    case 'RolloutCompleted':
      return withPassed(state, { point: 'AfterUpgrade' });
    case 'NodeEmptied': {
      const { node, operation } = event.data;
      return isDrain ? withPassed(state, { point: 'AfterNodeDrain', node, operation }) : state;
    }
    case 'UpgradeHookBlocked':
    case 'UpgradeHookSucceeded':
    case 'UpgradeHookFailed':
      return withProgress(state, event);
    default:
      return state;
  }
};

/** The same for requests about nodes. Each request calls the hooks for its own drains. */
export const actionHooksAfter = (state: HookState | undefined, event: StoredEvent): HookState | undefined => {
  if (event.type === 'ClusterSpecChanged') return withDeclared(state, event);
  if (state === undefined) return undefined;
  if (event.type === 'HookSkipped') return withSkipped(state, event);
  switch (event.type) {
    case 'NodeActionDrained': {
      const { node, requestId: operation } = event.data;
      return withPassed(state, { point: 'AfterNodeDrain', node, operation });
    }
    case 'NodeActionHookBlocked':
    case 'NodeActionHookSucceeded':
    case 'NodeActionHookFailed': {
      const { point, node, requestId: operation } = event.data;
      const after = withProgress(state, event);
      const isOver = !holdsStep(point) && !hasPassed(after, { point, node, operation });
      return isOver ? tidied(after, isAbout(node, operation)) : after;
    }
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
      return tidied(state, isAbout(event.data.node, event.data.requestId));
    case 'VmDeleted':
      return tidied(state, isAbout(event.data.name));
    default:
      return state;
  }
};
