import {
  changesNode,
  takesDown,
  type Fact,
  type NodeActionKind,
  type PostponedReason,
  type VoidReason,
} from '@fairlead/contracts';
import {
  isHeld,
  lastAnswerAt,
  majorityOf,
  nextCall,
  type HookCall,
  type HookFactType,
  type Moment,
} from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import {
  cordons,
  drains,
  isChanging,
  type KnownActions,
  type Member,
  type Open,
  type Progress,
} from './actions.state.js';

export type ActionFact = Fact<
  | 'NodeActionStarted'
  | 'NodeActionPostponed'
  | 'NodeActionCordoned'
  | 'NodeActionEvictionRefused'
  | 'NodeActionDrained'
  | 'NodeActionUncordoned'
  | 'NodeActionSucceeded'
  | 'NodeActionFailed'
  | 'NodeActionVoided'
  | HookFactType<'NodeAction'>
>;

const MINUTE_MS = 60_000;
/** How long a node may take to become Ready after its agent changes it; restarts when its agent is back. */
export const CHANGE_LIMIT_MS = 15 * MINUTE_MS;

/** A node of a request that is not finished. */
export interface Entry {
  readonly open: Open;
  readonly node: string;
  readonly progress: Progress;
}

export const entriesOf = ({ open }: Pick<KnownActions, 'open'>): readonly Entry[] =>
  Object.values(open).flatMap((one) =>
    Object.entries(one.nodes).map(([node, progress]): Entry => ({ open: one, node, progress })),
  );

interface ActionRef {
  readonly uid: KnownActions['uid'];
  readonly requestId: string;
  readonly action: NodeActionKind;
  readonly node: Member['name'];
}

export const aboutOf = (
  { uid }: Pick<KnownActions, 'uid'>,
  { open, node }: Pick<Entry, 'open' | 'node'>,
): ActionRef => ({
  uid,
  requestId: open.requestId,
  action: open.action,
  node: node as Member['name'],
});

/** A cordon of the request exists that must be removed. */
const isStillCordoned = ({ cordons: standing }: KnownActions, { open, node }: Entry): boolean =>
  standing[node]?.requestId === open.requestId;

const isDone = (state: KnownActions, entry: Entry): boolean => {
  const { open, progress } = entry;
  switch (open.action) {
    case 'cordon':
      return progress.cordoned !== null;
    case 'drain':
      return progress.drained;
    case 'uncordon':
      return progress.uncordoned;
    case 'reboot':
      return progress.booted === 'ordered' && progress.readyAgain && !isStillCordoned(state, entry);
    case 'repair':
      return progress.readyAgain && !isStillCordoned(state, entry);
  }
};

/** Whether the request can be dropped: everything done to the node has been undone. */
const isRevocable = ({ open, progress }: Entry): boolean =>
  progress.startedAt === null || (open.action !== 'uncordon' && progress.changingSince === null);

/** The hook point before a drain. */
export const drainMomentOf = ({ open, node }: Pick<Entry, 'open' | 'node'>): Moment => ({
  point: 'BeforeNodeDrain',
  node: node as Member['name'],
  operation: open.requestId,
});

/** When the time limit of a drain starts: after its hooks have completed. */
export const drainSinceOf = ({ hooks }: KnownActions, entry: Entry): string | null => {
  const { startedAt } = entry.progress;
  const letGoAt = lastAnswerAt(hooks, drainMomentOf(entry));
  return startedAt === null || letGoAt === null || letGoAt < startedAt ? startedAt : letGoAt;
};

/** Whether hooks block its drain: nothing was done to the node yet. */
const isDrainHeld = ({ hooks }: KnownActions, entry: Entry): boolean => {
  const { startedAt, cordoned } = entry.progress;
  return drains(entry.open) && startedAt !== null && cordoned === null && isHeld(hooks, drainMomentOf(entry));
};

/** Whether a change waits for its agent, or the node for its turn or for hooks. */
const waits = (state: KnownActions, entry: Entry): boolean => {
  const { startedAt, askedRevision, changingSince } = entry.progress;
  return startedAt === null || isDrainHeld(state, entry) || (askedRevision !== null && changingSince === null);
};

/**
 * Whether the node has booted since the request, known before anything is done to it or while it is drained. Once the
 * agent is asked for the reboot, only the agent compares boots.
 */
const hasBootedSince = ({ members }: KnownActions, { open, node, progress }: Entry): boolean => {
  const { bootId = null, bootedAt = null } = members[node] ?? {};
  if (open.action !== 'reboot' || progress.askedRevision !== null || bootedAt === null) return false;
  return bootId !== progress.bootId && Date.parse(bootedAt) > Date.parse(open.requestedAt);
};

const voidReasonOf = (state: KnownActions, entry: Entry, now: string): VoidReason | undefined => {
  const { open, node, progress } = entry;
  if (state.members[node] === undefined) return 'NodeGone';
  if (progress.booted === 'before' || hasBootedSince(state, entry)) return 'BootedSince';
  if (open.cancelled && isRevocable(entry)) return 'Cancelled';
  if (open.failed && progress.startedAt === null) return 'EarlierFailed';
  return now >= open.expiresAt && waits(state, entry) ? 'Expired' : undefined;
};

const failureOf = (state: KnownActions, { open, node, progress }: Entry, now: string): string | undefined => {
  const { changingSince, readyAgain, startedAt, uncordoned } = progress;
  if (open.action === 'uncordon' && startedAt !== null && !uncordoned && state.cordons[node] === undefined)
    return 'it was not cordoned through Fairlead; kubectl uncordon undoes what others did';
  if (changingSince === null || readyAgain) return undefined;
  // A node that is away is not late: it may be back at any time until the request expires.
  if (state.members[node]?.lost === true)
    return now < open.expiresAt ? undefined : `its agent is silent since its ${open.action} began`;
  if (now < later(changingSince, CHANGE_LIMIT_MS)) return undefined;
  return `it was not Ready within ${CHANGE_LIMIT_MS / MINUTE_MS} minutes after its ${open.action} began`;
};

/** How the request ended on a node; undefined: it has not. */
const endOf = (state: KnownActions, entry: Entry, now: string): ActionFact | undefined => {
  const about = aboutOf(state, entry);
  const { open, node, progress } = entry;
  if (isDone(state, entry)) {
    const tookMs = Math.max(0, Date.parse(now) - Date.parse(progress.startedAt ?? open.requestedAt));
    return { type: 'NodeActionSucceeded', data: { ...about, tookMs } };
  }
  const reason = voidReasonOf(state, entry, now);
  if (reason !== undefined) return { type: 'NodeActionVoided', data: { ...about, reason } };
  if (progress.failure !== null) return { type: 'NodeActionFailed', data: { ...about, cause: progress.failure } };
  const message = failureOf(state, entry, now);
  if (message === undefined) return undefined;
  return { type: 'NodeActionFailed', data: { ...about, cause: { operation: open.action, target: node, message } } };
};

const controlPlanesOf = ({ members }: KnownActions): readonly Member[] =>
  Object.values(members).filter(({ role }) => role === 'control-plane');

const isWell = ({ ready, lost, leaving }: Member): boolean => ready && !lost && !leaving;

/** C8: etcd must have its quorum without the node. A single control plane has no quorum to lose. */
const losesQuorum = (state: KnownActions, { name }: Member): boolean => {
  const all = controlPlanesOf(state);
  const others = all.filter((one) => one.name !== name && isWell(one)).length;
  return all.length > 1 && others < majorityOf(all.length);
};

const blockingWork = (state: KnownActions, { open }: Entry, member: Member): PostponedReason | undefined => {
  if (state.restoring) return 'RestoreInProgress';
  if (state.upgrading) return 'UpgradeInProgress';
  if (isChanging(member)) return 'NodeChanging';
  if (changesNode(open.action) && member.lost) return 'AgentAway';
  if (!takesDown(open.action) || member.role === 'worker') return undefined;
  const isAnyChanged = controlPlanesOf(state).some((other) => other.name !== member.name && isChanging(other));
  if (isAnyChanged) return 'OtherControlPlane';
  return losesQuorum(state, member) ? 'NoQuorum' : undefined;
};

/** How many nodes of each role are down for requests. */
interface Down {
  readonly 'control-plane': number;
  readonly worker: number;
}

const downOf = (state: KnownActions): Down => {
  const down = entriesOf(state).filter(({ open, progress }) => takesDown(open.action) && progress.startedAt !== null);
  const count = (role: Member['role']): number => down.filter(({ node }) => state.members[node]?.role === role).length;
  return { 'control-plane': count('control-plane'), worker: count('worker') };
};

const hasRoom = ({ open }: Entry, { role }: Member, down: Down): boolean =>
  !takesDown(open.action) || down[role] < (role === 'control-plane' ? 1 : open.maxUnavailable);

/** Nodes that can begin within the limits, and nodes that cannot, with the reason. */
const starts = (state: KnownActions): readonly ActionFact[] => {
  const facts: ActionFact[] = [];
  const down = { ...downOf(state) };
  for (const entry of entriesOf(state)) {
    const { open, node, progress } = entry;
    const member = state.members[node];
    if (progress.startedAt !== null || member === undefined || open.cancelled) continue;
    const reason = blockingWork(state, entry, member);
    if (reason !== undefined) {
      if (reason !== progress.postponed)
        facts.push({ type: 'NodeActionPostponed', data: { ...aboutOf(state, entry), reason } });
      continue;
    }
    if (!hasRoom(entry, member, down)) continue;
    if (takesDown(open.action)) down[member.role] += 1;
    facts.push({ type: 'NodeActionStarted', data: aboutOf(state, entry) });
  }
  return facts;
};

/** Facts that follow from the state and the time. */
export const factsOf = (state: KnownActions, now: string): readonly ActionFact[] => {
  if (state.life === 'deleting') return [];
  const ends = entriesOf(state).flatMap((entry) => endOf(state, entry, now) ?? []);
  return ends.length > 0 || state.life !== 'ready' ? ends : starts(state);
};

/** Hooks before and after drains that are due, now or later. */
const nextCalls = (state: KnownActions) => {
  const held = entriesOf(state).filter((entry) => isDrainHeld(state, entry));
  return [...held.map(drainMomentOf), ...(state.hooks?.passed ?? [])].flatMap(
    (moment) => nextCall(state.hooks, moment) ?? [],
  );
};

/** How many hooks of one cluster are called concurrently. */
const HOOKS_AT_ONCE_MAX = 5;

/** Hooks that are due now. */
export const hookCalls = (state: KnownActions, now: string): readonly HookCall[] =>
  nextCalls(state)
    .filter(({ at }) => at === null || at <= now)
    .slice(0, HOOKS_AT_ONCE_MAX)
    .map(({ call }) => call);

/** Times at which the state changes without an event. */
export const momentsOf = (state: KnownActions): readonly string[] => [
  ...entriesOf(state).flatMap(({ open, progress }) => [
    open.expiresAt,
    ...(progress.changingSince === null ? [] : [later(progress.changingSince, CHANGE_LIMIT_MS)]),
  ]),
  ...nextCalls(state).flatMap(({ at }) => at ?? []),
];

/** Whether the change was made, apart from the readiness after it: a reboot once it has booted, a repair once it was requested. */
export const isChanged = ({ action }: Pick<Open, 'action'>, { booted, askedRevision }: Progress): boolean =>
  action === 'repair' ? askedRevision !== null : booted !== null;

/** The next step of an active request on a node. */
export type Step = 'CordonNode' | 'DrainNode' | 'AllowChange' | 'UncordonNode';

export const stepOf = (state: KnownActions, entry: Entry): Step | undefined => {
  const { open, node, progress } = entry;
  if (progress.startedAt === null) return undefined;
  if (cordons(open) && progress.cordoned === null) return isDrainHeld(state, entry) ? undefined : 'CordonNode';
  if (drains(open) && !progress.drained) return 'DrainNode';
  if (open.action === 'uncordon') return state.cordons[node] === undefined ? undefined : 'UncordonNode';
  if (!changesNode(open.action)) return undefined;
  if (progress.awaitedSnapshot !== undefined) return undefined;
  if (!isChanged(open, progress)) return state.permitted[node] === open.requestId ? undefined : 'AllowChange';
  return progress.readyAgain && isStillCordoned(state, entry) ? 'UncordonNode' : undefined;
};
