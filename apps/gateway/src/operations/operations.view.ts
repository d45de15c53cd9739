import { sentenceOf, type OperationView } from '@fairlead/contracts';
import type { OperationDoc } from './operations.projection.js';
import { currentStepOf, stepViews, type PassedOf } from './steps.js';

/** `passedOf` counts the nodes of the operation; `nodes` are their names. */
export const operationView = (
  uid: string,
  doc: OperationDoc,
  nodes: readonly string[],
  passedOf: PassedOf,
): OperationView => {
  const steps = stepViews(
    {
      kind: doc.course,
      phase: doc.phase,
      startedAt: doc.stepsSince,
      finishedAt: doc.finishedAt,
      marks: doc.marks,
      planned: doc.planned,
    },
    passedOf,
  );
  return {
    id: doc.id,
    kind: doc.kind,
    phase: doc.phase,
    uid,
    actor: doc.actor,
    startedAt: doc.startedAt,
    finishedAt: doc.finishedAt,
    durationMs: doc.finishedAt === null ? null : Date.parse(doc.finishedAt) - Date.parse(doc.startedAt),
    nodes: doc.node === null ? [...nodes] : [doc.node],
    currentStep: currentStepOf(steps)?.name ?? null,
    steps: [...steps],
    failures: doc.failures.map((failure) => ({ ...failure, sentence: sentenceOf(failure.cause) })),
    failuresTotal: doc.failuresTotal,
    message: doc.message,
  };
};
