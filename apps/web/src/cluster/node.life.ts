import { concerns, type ScoreEvent } from '@fairlead/domain';

/** What a node is, from one event to the next. */
export const STRETCHES = ['before', 'joining', 'ready', 'not-ready', 'changing', 'gone'] as const;
export type Stretch = (typeof STRETCHES)[number];

export const STRETCH_WORDS: Readonly<Record<Stretch, string>> = {
  before: 'machine is made',
  joining: 'joins',
  ready: 'Ready',
  'not-ready': 'not Ready',
  changing: 'drained or changed',
  gone: 'gone',
};

export type MarkKind = 'boot' | 'version' | 'cordon' | 'replacement' | 'failure' | 'host';

/** Something that is worth a mark of its own. */
export interface Mark {
  readonly kind: MarkKind;
  readonly event: LifeEvent;
}

export interface LifeEvent extends ScoreEvent {
  readonly actor: string;
}

export interface Band {
  readonly stretch: Stretch;
  readonly fromMs: number;
  readonly toMs: number;
  readonly event: LifeEvent | undefined;
}

export interface Life {
  readonly bands: readonly Band[];
  readonly marks: readonly Mark[];
  readonly events: readonly LifeEvent[];
}

const BEGINS: Readonly<Partial<Record<string, Stretch>>> = {
  VmsPlanned: 'before',
  VmCreated: 'joining',
  VmsCreated: 'joining',
  HostReached: 'joining',
  NodeReady: 'ready',
  NodeRecovered: 'ready',
  NodeReturned: 'ready',
  VmReturned: 'ready',
  NodeNotReady: 'not-ready',
  NodeLost: 'not-ready',
  NodeMissing: 'not-ready',
  VmStopped: 'not-ready',
  VmGone: 'not-ready',
  NodeCordoned: 'changing',
  NodeActionStarted: 'changing',
  NodeActionCordoned: 'changing',
  NodeRemovalRequested: 'changing',
  NodeUncordoned: 'ready',
  NodeActionUncordoned: 'ready',
  NodeActionSucceeded: 'ready',
  NodeRemovalCancelled: 'ready',
  NodeRemoved: 'gone',
  VmDeleted: 'gone',
};

const MARKS: readonly (readonly [RegExp, MarkKind])[] = [
  [/^(NodeRebooted|VmStarted)$/, 'boot'],
  [/^(VersionChanged|AgentUpdated)$/, 'version'],
  [/(Cordoned|Uncordoned)$|^UpdatesDisabledSet$/, 'cordon'],
  [/^Node(Replacement\w+|RemovalRequested|RemovalCancelled)$|^RemediationRequested$/, 'replacement'],
  [/(Failed|Lost|Missing|Blocked|Refused|TimedOut|Diverged|Quarantined)$/, 'failure'],
  [/^(Host\w+|VmDeleted|NodeRemoved)$/, 'host'],
];

/** A machine that is drained, or has gone, is not called Ready before it is uncordoned, or there again. */
const follows = (before: Stretch, next: Stretch, type: string): boolean =>
  next !== before &&
  !(next === 'joining' && before !== 'before') &&
  !(before === 'gone' && next !== 'before') &&
  !(before === 'changing' && type === 'NodeReady');

/** One line for a node: from its plan to its end, or to now. `events` are those of its cluster, in order. */
export const lifeOf = (events: readonly LifeEvent[], node: string, nowMs: number): Life => {
  const own = events.filter((event) => concerns(event, node));
  const [first] = own;
  if (first === undefined) return { bands: [], marks: [], events: [] };
  const bands: Band[] = [{ stretch: 'before', fromMs: Date.parse(first.time), toMs: nowMs, event: first }];
  for (const event of own) {
    const stretch = BEGINS[event.type];
    const last = bands.at(-1)!;
    if (stretch === undefined || !follows(last.stretch, stretch, event.type)) continue;
    const atMs = Math.max(last.fromMs, Date.parse(event.time));
    bands[bands.length - 1] = { ...last, toMs: atMs };
    bands.push({ stretch, fromMs: atMs, toMs: Math.max(atMs, nowMs), event });
  }
  const marks = own.flatMap((event) => {
    const kind = MARKS.find(([pattern]) => pattern.test(event.type))?.[1];
    return kind === undefined ? [] : [{ kind, event }];
  });
  return { bands: bands.filter(({ fromMs, toMs }) => toMs > fromMs), marks, events: own };
};
