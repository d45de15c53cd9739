import type { ClusterAt } from '../api/api.ports.js';
import type { OperationKind, StepPlan } from './operations.js';

/** Something went wrong, and it is tried again unless `nextAttemptAtMs` is null. */
export interface Trouble {
  readonly message: string;
  readonly node?: string | undefined;
  readonly attempt?: number | undefined;
  readonly attemptsMax?: number | undefined;
  /** null: not again. undefined: the source does not say when. */
  readonly nextAttemptAtMs?: number | null | undefined;
}

export type StepState =
  | { readonly status: 'waiting' }
  | { readonly status: 'running'; readonly startedAtMs: number; readonly trouble?: Trouble | undefined }
  | { readonly status: 'done'; readonly startedAtMs: number; readonly endedAtMs: number }
  | { readonly status: 'failed'; readonly startedAtMs: number; readonly endedAtMs: number; readonly trouble: Trouble };

export interface Step {
  readonly plan: StepPlan;
  readonly state: StepState;
  /** The nodes (or other names) for which it is done. */
  readonly done: readonly string[];
  readonly note?: string | undefined;
}

export interface Phase {
  readonly title: string;
  readonly steps: readonly Step[];
}

export type OperationState =
  | { readonly status: 'running' }
  | { readonly status: 'done'; readonly endedAtMs: number }
  | { readonly status: 'failed'; readonly endedAtMs: number; readonly failure: Failure };

export interface Failure {
  /** A refusal's code, or CB-Ladybug's reason code. */
  readonly code: string;
  readonly message: string;
  readonly node?: string | undefined;
  /** Nothing was made: a check against the world said no. */
  readonly rejected: boolean;
  /** A retry does not take it up: it was rolled back or given up. */
  readonly final?: true;
}

export interface Operation {
  readonly kind: OperationKind;
  /** The latest wish that is part of it: a retry, or a further node to remove, joins the one that runs. */
  readonly wishSeq: number;
  readonly state: OperationState;
  readonly actor: string;
  readonly startedAtMs: number;
  readonly retries: number;
  readonly phases: readonly Phase[];
}

/** How far a node is, in the order of its life. */
export const NODE_STAGES = [
  'planned',
  'created',
  'reached',
  'agent',
  'software',
  'prepared',
  'joined',
  'ready',
  'not-ready',
  'drained',
  'left',
] as const;
export type NodeStage = (typeof NODE_STAGES)[number];

export interface NodeProgress {
  readonly name: string;
  readonly role: 'control-plane' | 'worker';
  readonly stage: NodeStage;
  readonly sinceMs: number;
  readonly version?: string | undefined;
  readonly trouble?: Trouble | undefined;
  /** No heartbeat for too long; that says nothing about its machine. */
  readonly lost: boolean;
}

/** One incarnation of a cluster as its events tell it: what runs, what is done, how far each node is. */
export interface Progress {
  readonly at: ClusterAt;
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly endpoint: string | undefined;
  /** Oldest first; the last one is the present one. */
  readonly operations: readonly Operation[];
  readonly nodes: readonly NodeProgress[];
  readonly lastSeq: number;
  /** When the last event happened that changed anything here. */
  readonly lastTimeMs: number;
}

export const noProgress = (at: ClusterAt): Progress => ({
  at,
  uid: undefined,
  version: undefined,
  endpoint: undefined,
  operations: [],
  nodes: [],
  lastSeq: 0,
  lastTimeMs: 0,
});

export const currentOperation = ({ operations }: Progress): Operation | undefined => operations.at(-1);
