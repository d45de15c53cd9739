import * as z from 'zod';
import { paged } from './list.views.js';
import { Cause } from '../failures.js';
import { NodeProgressView } from './node.views.js';
import { time } from './time.js';

export const OPERATION_KINDS = [
  'create',
  'retry',
  'delete',
  'add-nodes',
  'remove-node',
  'replace-node',
  'replace-nodes',
  'upgrade',
  'reboot-nodes',
  'drain-nodes',
  'cordon-nodes',
  'uncordon-nodes',
  'repair-nodes',
  'snapshot-etcd',
  'verify-snapshot',
  'restore-etcd',
] as const;
export const OperationKind = z.enum(OPERATION_KINDS);
export type OperationKind = z.infer<typeof OperationKind>;

export const OPERATION_PHASES = ['Running', 'Succeeded', 'Failed', 'Rejected', 'Cancelled', 'Superseded'] as const;
export const OperationPhase = z.enum(OPERATION_PHASES);
export type OperationPhase = z.infer<typeof OperationPhase>;

export const StepFailureView = z
  .strictObject({
    at: time,
    step: z.string().describe('The step in the words of the service that tried it'),
    node: z.string().nullable(),
    cause: Cause,
    sentence: z.string(),
    attempt: z.int(),
    attemptsMax: z.int(),
    nextAttemptAt: time.nullable().describe('null: it is not tried again'),
  })
  .meta({ id: 'StepFailure', description: 'A failed attempt at a step' });
export type StepFailureView = z.infer<typeof StepFailureView>;

export const StepView = z
  .strictObject({
    name: z.string().describe('Stable name, e.g. init-control-plane'),
    title: z.string(),
    group: z.string().describe('Title of the part of the operation that it belongs to'),
    state: z.enum(['waiting', 'running', 'done', 'failed']),
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    durationMs: z.int().nullable().describe('From start to finish; null while it is not finished'),
    done: z
      .int()
      .nullable()
      .describe('How many of the nodes it is about have passed it; null when it is not about nodes'),
    total: z.int().nullable(),
    note: z.string().describe('What it resulted in, e.g. the address of the API; empty when there is nothing to say'),
    failure: StepFailureView.nullable().describe('The latest failed attempt; null when a later one succeeded'),
  })
  .meta({ id: 'Step', description: 'A step of an operation' });
export type StepView = z.infer<typeof StepView>;

export const OperationView = z
  .strictObject({
    id: z.string().describe('Id of the event that requested it'),
    seq: z.int().describe('Sequence of that event'),
    kind: OperationKind,
    retryOf: OperationKind.nullable().describe('The kind of the operation that a retry continues; null for all others'),
    retries: z.int().describe('How often the operation has been retried so far, including this retry'),
    phase: OperationPhase,
    uid: z.string(),
    actor: z.string(),
    startedAt: time,
    finishedAt: time.nullable(),
    durationMs: z.int().nullable(),
    nodes: z.array(NodeProgressView).describe('The nodes that it is about and that still exist'),
    currentStep: z.string().nullable().describe('Name of the step that runs or failed'),
    steps: z.array(StepView),
    failures: z.array(StepFailureView).describe('The latest failed attempts, oldest first'),
    failuresTotal: z.int(),
    reason: z.string().describe('The code of a failure or of a refusal; empty when nothing is wrong'),
    message: z.string().describe('Why it ended as it did; empty when there is nothing to say'),
    nextActions: z
      .array(z.string())
      .describe('What an operator can do about it, each with its command; empty while it goes on by itself'),
  })
  .meta({ id: 'Operation', description: 'A request about a cluster and what came of it' });
export type OperationView = z.infer<typeof OperationView>;

export const OperationList = z
  .strictObject({ kind: z.literal('OperationList'), items: z.array(OperationView), ...paged })
  .meta({ id: 'OperationList' });
export type OperationList = z.infer<typeof OperationList>;
