import {
  ACTION_PARTICIPLES,
  holdsStep,
  POSTPONED_WORDS,
  VOID_WORDS,
  type NodeActionKind,
  type OperationPhase,
  type StoredEvent,
  type VoidReason,
} from '@fairlead/contracts';
import { sentenceOfEvent, type RequestedAction } from '@fairlead/domain';

/** How far a request about nodes is on one of them. */
export interface Acted {
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'left';
  readonly since: string;
  /** What it waits for, or how it ended; empty: nothing to say. */
  readonly message: string;
  /** It does not get further by itself now: the message says what it waits for. */
  readonly waits?: true;
  /** Why it was left as it is. */
  readonly why?: VoidReason;
}

export type ActedNodes = Readonly<Record<string, Acted>>;

export const actedAtFirst = ({ nodes }: RequestedAction, since: string): ActedNodes =>
  Object.fromEntries(nodes.map((node): [string, Acted] => [node, { state: 'waiting', since, message: '' }]));

export type ActionEvent = StoredEvent<
  | 'NodeActionStarted'
  | 'NodeActionPostponed'
  | 'NodeActionHookBlocked'
  | 'NodeActionHookSucceeded'
  | 'NodeActionHookFailed'
  | 'HookSkipped'
  | 'NodeActionCordoned'
  | 'NodeActionEvictionRefused'
  | 'NodeActionDrained'
  | 'NodeActionSucceeded'
  | 'NodeActionFailed'
  | 'NodeActionVoided'
>;

const actedBy = (event: ActionEvent): Acted => {
  const { time: since } = event.meta;
  switch (event.type) {
    case 'NodeActionHookBlocked':
      return { state: 'waiting', since, message: sentenceOfEvent(event), waits: true };
    case 'NodeActionHookFailed': {
      const message = sentenceOfEvent(event);
      return event.data.nextAttemptAt === null
        ? { state: 'running', since, message }
        : { state: 'waiting', since, message, waits: true };
    }
    case 'NodeActionPostponed':
      return { state: 'waiting', since, message: POSTPONED_WORDS[event.data.reason], waits: true };
    case 'NodeActionStarted':
    case 'NodeActionHookSucceeded':
    case 'HookSkipped':
    case 'NodeActionCordoned':
    case 'NodeActionDrained':
      return { state: 'running', since, message: sentenceOfEvent(event) };
    case 'NodeActionEvictionRefused':
      return { state: 'running', since, message: sentenceOfEvent(event), waits: true };
    case 'NodeActionSucceeded':
      return { state: 'done', since, message: ACTION_PARTICIPLES[event.data.action] };
    case 'NodeActionFailed':
      return { state: 'failed', since, message: sentenceOfEvent(event) };
    case 'NodeActionVoided': {
      const { reason } = event.data;
      return { state: 'left', since, message: VOID_WORDS[reason], why: reason };
    }
  }
};

/** Nothing waits for these hooks. */
const isAfterDrain = ({ data }: ActionEvent): boolean => 'point' in data && !holdsStep(data.point);

/** What is through stays through. */
export const actedAfter = (nodes: ActedNodes, event: ActionEvent): ActedNodes => {
  const { node = '' } = event.data;
  const before = nodes[node];
  if (before === undefined || isThrough(before) || isAfterDrain(event)) return nodes;
  return { ...nodes, [node]: actedBy(event) };
};

export const isThrough = ({ state }: Acted): boolean => state === 'done' || state === 'failed' || state === 'left';

/** Nodes that booted by themselves, or are gone, need nothing any more. */
const isSatisfied = ({ state, why }: Acted): boolean => state === 'done' || why === 'BootedSince' || why === 'NodeGone';

const messageOf = (nodes: ActedNodes): string =>
  Object.entries(nodes)
    .flatMap(([node, { state, message }]) => (state === 'done' ? [] : [`${node}: ${message}`]))
    .join('; ');

/** How the request ended; undefined: a node is not through. */
export const endOfActed = (
  nodes: ActedNodes,
): { readonly phase: OperationPhase; readonly message: string } | undefined => {
  const all = Object.values(nodes);
  if (!all.every(isThrough)) return undefined;
  const message = messageOf(nodes);
  if (all.every(isSatisfied)) return { phase: 'Succeeded', message };
  const isCancelled = all.every((one) => isSatisfied(one) || one.why === 'Cancelled');
  return { phase: isCancelled ? 'Cancelled' : 'Failed', message };
};

export const COURSES = {
  reboot: 'reboot-nodes',
  drain: 'drain-nodes',
  cordon: 'cordon-nodes',
  uncordon: 'uncordon-nodes',
  repair: 'repair-nodes',
} as const satisfies Readonly<Record<NodeActionKind, string>>;
