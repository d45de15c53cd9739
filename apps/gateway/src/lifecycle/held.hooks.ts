import { holdsStep, type DeclaredSpec, type EventData, type HookPoint, type StoredEvent } from '@fairlead/contracts';
import { attemptWords } from '@fairlead/domain';

/** A hook that a step waits for. */
export interface HeldBy {
  readonly hook: string;
  readonly point: HookPoint;
  readonly node: string | null;
  /** It has failed, or asked for more time. */
  readonly failed: boolean;
  readonly message: string;
  /** How often it has answered without letting the step go on. Rows of earlier releases have none. */
  readonly attempt?: number;
  /** RFC 3339: its latest answer. Rows of earlier releases have none. */
  readonly answeredAt?: string;
  /** RFC 3339. */
  readonly since: string;
  readonly nextAttemptAt: string;
  /** It holds this upgrade, and lets go when that ends. */
  readonly upgradeId?: string;
  /** It holds this request about nodes, and lets go when that is through on the node. */
  readonly requestId?: string;
}

/** By point, node and name; undefined: no hooks are declared. */
export type HeldHooks = Readonly<Record<string, HeldBy>> | undefined;

type HookEventType =
  | 'HookBlocked'
  | 'HookSucceeded'
  | 'HookFailed'
  | 'UpgradeHookBlocked'
  | 'UpgradeHookSucceeded'
  | 'UpgradeHookFailed'
  | 'NodeActionHookBlocked'
  | 'NodeActionHookSucceeded'
  | 'NodeActionHookFailed';

const keyOf = ({
  point,
  node,
  hook,
}: {
  readonly point: string;
  readonly node?: string | undefined;
  readonly hook: string;
}) => `${point}/${node ?? ''}/${hook}`;

const without = (held: HeldHooks, isOver: (one: HeldBy) => boolean): HeldHooks =>
  held === undefined || !Object.values(held).some(isOver)
    ? held
    : Object.fromEntries(Object.entries(held).filter(([, one]) => !isOver(one)));

const withDeclared = (held: HeldHooks, { hooks: declared = [] }: DeclaredSpec): HeldHooks => {
  if (declared.length === 0) return undefined;
  return without(
    held ?? {},
    ({ hook, point }) => !declared.some(({ name, points }) => name === hook && points.includes(point)),
  );
};

/** A hook after a step holds nothing. */
const asked = (held: HeldHooks = {}, { data, meta }: StoredEvent<HookEventType>): HeldHooks => {
  const { hook, point, node = null } = data;
  const key = keyOf(data);
  const { [key]: before, ...others } = held;
  const nextAttemptAt = 'nextAttemptAt' in data ? data.nextAttemptAt : null;
  if (nextAttemptAt === null || !holdsStep(point)) return others;
  const failed = 'cause' in data;
  const message = 'cause' in data ? data.cause.message : 'message' in data ? data.message : '';
  const { since = meta.time } = before ?? {};
  const part = {
    ...('upgradeId' in data ? { upgradeId: data.upgradeId } : {}),
    ...('requestId' in data ? { requestId: data.requestId } : {}),
  };
  const answer = { attempt: data.attempt, answeredAt: meta.time, failed, message };
  return { ...others, [key]: { hook, point, node, since, nextAttemptAt, ...answer, ...part } };
};

const withoutSkipped = (held: HeldHooks, data: EventData<'HookSkipped'>): HeldHooks => {
  const { [keyOf(data)]: _skipped, ...others } = held ?? {};
  return others;
};

/** Hooks that hold a step of the cluster after an event about it. */
export const heldAfter = (held: HeldHooks, event: StoredEvent): HeldHooks => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return withDeclared(held, event.data.spec);
    case 'HookBlocked':
    case 'HookSucceeded':
    case 'HookFailed':
    case 'UpgradeHookBlocked':
    case 'UpgradeHookSucceeded':
    case 'UpgradeHookFailed':
    case 'NodeActionHookBlocked':
    case 'NodeActionHookSucceeded':
    case 'NodeActionHookFailed':
      return asked(held, event);
    case 'HookSkipped':
      return withoutSkipped(held, event.data);
    case 'RolloutAborted':
    case 'RolloutCompleted':
      return without(held, ({ upgradeId }) => upgradeId === event.data.upgradeId);
    case 'OperationPostponed':
      return without(held, ({ upgradeId, node }) => upgradeId !== undefined && node === event.data.node);
    case 'NodeActionCordoned':
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided': {
      const { data } = event;
      return without(held, ({ requestId, node }) => requestId === data.requestId && node === data.node);
    }
    case 'NodeRemovalCancelled':
      return without(held, ({ upgradeId, node }) => upgradeId === undefined && node === event.data.node);
    case 'NodeRemoved':
      return without(held, ({ node }) => node === event.data.node);
    case 'VmDeleted':
      return without(held, ({ node }) => node === event.data.name);
    case 'ClusterDeletionRequested': // What was held is not done any more.
      return without(held, () => true);
    default:
      return held;
  }
};

/** The answers so far: `attempt 3, next at 2026-…`. */
export const heldAttempts = ({ attempt = 1, nextAttemptAt }: Pick<HeldBy, 'attempt' | 'nextAttemptAt'>): string =>
  attemptWords({ attempt, attemptsMax: attempt, nextAttemptAt });

/** Every event that `heldAfter` reacts to. */
export const HELD_EVENTS: readonly StoredEvent['type'][] = [
  'ClusterSpecChanged',
  'HookBlocked',
  'HookSucceeded',
  'HookFailed',
  'UpgradeHookBlocked',
  'UpgradeHookSucceeded',
  'UpgradeHookFailed',
  'NodeActionHookBlocked',
  'NodeActionHookSucceeded',
  'NodeActionHookFailed',
  'HookSkipped',
  'RolloutAborted',
  'RolloutCompleted',
  'OperationPostponed',
  'NodeActionCordoned',
  'NodeActionSucceeded',
  'NodeActionFailed',
  'NodeActionVoided',
  'NodeRemovalCancelled',
  'NodeRemoved',
  'VmDeleted',
  'ClusterDeletionRequested',
];

const CHANGING_HELD: ReadonlySet<string> = new Set(HELD_EVENTS);

export const isAboutHeld = ({ type }: StoredEvent): boolean => CHANGING_HELD.has(type);
