import {
  reasonCodeOf,
  sentenceOf,
  type NodeProgressView,
  type OperationView,
  type StepFailureView,
} from '@fairlead/contracts';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { nodeProgress } from '../nodes/nodes.view.js';
import { kindOf } from './step.sequence.js';
import type { Acted } from './node.actions.evolve.js';
import { holding, hookFailure } from './hook.failures.js';
import { nextActionsOf } from './next.actions.js';
import type { OperationDoc } from './operation.evolve.js';
import type { OperationsDoc } from './operations.projection.js';
import { currentStepOf, stepViews } from './step.views.js';

/** The nodes that an operation is about, of those that its cluster has now. */
const nodesOf = ({ course, planSeqs, node, acted }: OperationDoc, nodes: readonly NodeDoc[]): readonly NodeDoc[] => {
  switch (course) {
    case 'create':
    case 'add-nodes':
      return nodes.filter(({ planSeq }) => planSeqs.includes(planSeq));
    case 'remove-node':
      return nodes.filter(({ name }) => name === node);
    case 'replace-node':
    case 'replace-node-first':
      return nodes.filter(({ name, planSeq }) => name === node || planSeqs.includes(planSeq));
    case 'delete':
      return nodes;
    case 'reboot-nodes':
    case 'drain-nodes':
    case 'cordon-nodes':
    case 'uncordon-nodes':
    case 'repair-nodes':
      return nodes.filter(({ name }) => acted?.[name] !== undefined);
    case 'snapshot-etcd':
    case 'verify-snapshot':
    case 'restore-etcd':
    case 'replace-nodes': // Each replacement is an operation of its own.
    case 'upgrade':
      return [];
  }
};

/** The old node of a replacement was made long ago: no step about nodes is about it. */
const leaves = ({ course, node }: OperationDoc, { name }: NodeDoc): boolean =>
  (course === 'replace-node' || course === 'replace-node-first') && name === node;

/** A node that an attempt failed on says so, until it gets further. */
const withFailure = (view: NodeProgressView, failures: readonly (StepFailureView | null)[]): NodeProgressView => {
  const failure = failures.find((one) => one?.node === view.name);
  if (failure === undefined || failure === null) return view;
  const reason = view.reason === '' ? failure.sentence : view.reason;
  const isFailed = failure.nextAttemptAt === null && (view.state === 'waiting' || view.state === 'running');
  return { ...view, reason, state: isFailed ? 'failed' : view.state };
};

/** A node that is asked for an action says how far that is. */
const withAction = (view: NodeProgressView, acted: Acted | undefined): NodeProgressView => {
  if (acted === undefined) return view;
  const { state, message, since } = acted;
  switch (state) {
    case 'waiting':
    case 'running':
    case 'failed':
      return { ...view, state, since, ready: view.ready ?? view.state === 'ready', reason: message };
    case 'done':
      return view;
    case 'left':
      return { ...view, reason: view.reason === '' ? message : view.reason };
  }
};

/** The cluster of an operation. */
export type OfCluster = Omit<OperationsDoc, 'operations'>;

/** An operation with its steps and nodes; `nodes` are those that its cluster has now. */
export const operationView = (of: OfCluster, doc: OperationDoc, nodes: readonly NodeDoc[]): OperationView => {
  const own = nodesOf(doc, nodes);
  const held = holding(doc, of.hooks);
  const failures = [
    ...doc.failures.map((failure) => ({ ...failure, sentence: sentenceOf(failure.cause) })),
    ...held.ofSteps.map(hookFailure),
  ];
  const steps = stepViews({
    kind: doc.course,
    phase: doc.phase,
    startedAt: doc.stepsSince,
    finishedAt: doc.finishedAt,
    marks: doc.marks,
    notes: doc.notes,
    // Until machines are planned, what was requested counts.
    planned: doc.planSeqs.length === 0 ? doc.requested : doc.planned,
    deleted: doc.deleted,
    acted: doc.acted,
    reserving: doc.reserving,
    nodes: own.filter((node) => !leaves(doc, node)),
    failures,
    failedStep: doc.failedStep,
  });
  return {
    id: doc.id,
    seq: doc.seq,
    kind: doc.kind,
    retryOf: doc.kind === 'retry' ? kindOf(doc.course) : null,
    retries: doc.retries,
    phase: doc.phase,
    uid: of.uid,
    actor: doc.actor,
    startedAt: doc.startedAt,
    finishedAt: doc.finishedAt,
    durationMs: doc.finishedAt === null ? null : Date.parse(doc.finishedAt) - Date.parse(doc.startedAt),
    nodes: own.map((node) =>
      withFailure(
        withAction(nodeProgress(node), doc.acted?.[node.name]),
        steps.map(({ failure }) => failure),
      ),
    ),
    currentStep: currentStepOf(steps)?.name ?? null,
    steps: [...steps],
    failures,
    failuresTotal: doc.failuresTotal,
    reason: reasonCodeOf(doc.reason),
    message: doc.message,
    nextActions: [...nextActionsOf(of, doc, [...held.ofSteps, ...held.ofNodes])],
  };
};
