import { sentenceOf, type NodeProgressView, type OperationView, type StepFailureView } from '@fairlead/contracts';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { nodeProgress } from '../nodes/nodes.view.js';
import { kindOf, type OperationDoc } from './operation.evolve.js';
import { currentStepOf, stepViews } from './step.views.js';

/** The nodes that an operation is about, of those that its cluster has now. */
const nodesOf = ({ course, planSeqs, node }: OperationDoc, nodes: readonly NodeDoc[]): readonly NodeDoc[] => {
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
    case 'upgrade':
      return [];
  }
};

/** A node that an attempt failed on says so, until it gets further. */
const withFailure = (view: NodeProgressView, failures: readonly (StepFailureView | null)[]): NodeProgressView => {
  const failure = failures.find((one) => one?.node === view.name);
  if (failure === undefined || failure === null) return view;
  const reason = view.reason === '' ? failure.sentence : view.reason;
  const isFailed = failure.nextAttemptAt === null && (view.state === 'waiting' || view.state === 'running');
  return { ...view, reason, state: isFailed ? 'failed' : view.state };
};

/** An operation with its steps and nodes; `nodes` are those that its cluster has now. */
export const operationView = (uid: string, doc: OperationDoc, nodes: readonly NodeDoc[]): OperationView => {
  const own = nodesOf(doc, nodes);
  const failures = doc.failures.map((failure) => ({ ...failure, sentence: sentenceOf(failure.cause) }));
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
    nodes: own,
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
    uid,
    actor: doc.actor,
    startedAt: doc.startedAt,
    finishedAt: doc.finishedAt,
    durationMs: doc.finishedAt === null ? null : Date.parse(doc.finishedAt) - Date.parse(doc.startedAt),
    nodes: own.map((node) =>
      withFailure(
        nodeProgress(node),
        steps.map(({ failure }) => failure),
      ),
    ),
    currentStep: currentStepOf(steps)?.name ?? null,
    steps: [...steps],
    failures,
    failuresTotal: doc.failuresTotal,
    reason: doc.reason,
    message: doc.message,
  };
};
