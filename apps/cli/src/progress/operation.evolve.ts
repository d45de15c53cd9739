import type { EventView } from '../api/api.ports.js';
import { timeOf } from './event.fields.js';
import { phasesOf, stepNamed, type OperationKind, type PhasePlan, type Shape, type StepId } from './operations.js';
import {
  currentOperation,
  type Failure,
  type Operation,
  type Phase,
  type Progress,
  type Step,
  type StepState,
  type Trouble,
} from './progress.js';

const OPERATIONS_KEPT_MAX = 50;

const openPhase = ({ title, steps }: PhasePlan): Phase => ({
  title,
  steps: steps.map((plan) => ({ plan, state: { status: 'waiting' }, done: [] })),
});

export const begin = (progress: Progress, event: EventView, kind: OperationKind, shape: Shape): Progress => {
  const operation: Operation = {
    kind,
    wishSeq: event.seq,
    state: { status: 'running' },
    actor: event.actor,
    startedAtMs: timeOf(event),
    retries: 0,
    phases: phasesOf(kind, shape).map(openPhase),
  };
  const opened = { ...progress, operations: [...progress.operations, operation].slice(-OPERATIONS_KEPT_MAX) };
  const [first] = operation.phases[0]?.steps ?? [];
  return first === undefined
    ? opened
    : withOperation(opened, (current) => start(current, first.plan.id, timeOf(event)));
};

export const withOperation = (progress: Progress, change: (operation: Operation) => Operation): Progress => {
  const operation = currentOperation(progress);
  return operation === undefined
    ? progress
    : { ...progress, operations: [...progress.operations.slice(0, -1), change(operation)] };
};

export const stepsOf = ({ phases }: Pick<Operation, 'phases'>): readonly Step[] => phases.flatMap(({ steps }) => steps);

export const mapSteps = (operation: Operation, change: (step: Step) => Step): Operation => ({
  ...operation,
  phases: operation.phases.map((phase) => ({ ...phase, steps: phase.steps.map(change) })),
});

export const withStep = (operation: Operation, id: StepId, change: (step: Step) => Step): Operation =>
  mapSteps(operation, (step) => (step.plan.id === id ? change(step) : step));

const start = (operation: Operation, id: StepId, atMs: number): Operation =>
  withStep(operation, id, (step) =>
    step.state.status === 'waiting' ? { ...step, state: { status: 'running', startedAtMs: atMs } } : step,
  );

const next = (operation: Operation, id: StepId): Step | undefined => {
  const steps = stepsOf(operation);
  return steps[steps.findIndex(({ plan }) => plan.id === id) + 1];
};

const startedAtMsOf = (state: StepState, otherwiseMs: number): number =>
  state.status === 'waiting' ? otherwiseMs : state.startedAtMs;

/** The step is done; the next one begins. */
export const finish = (operation: Operation, id: StepId, atMs: number): Operation => {
  if (!stepsOf(operation).some(({ plan }) => plan.id === id)) return operation;
  const ended = withStep(operation, id, (step) =>
    step.state.status === 'done'
      ? step
      : { ...step, state: { status: 'done', startedAtMs: startedAtMsOf(step.state, atMs), endedAtMs: atMs } },
  );
  const after = next(ended, id);
  return after === undefined ? ended : start(ended, after.plan.id, atMs);
};

/** One more node has taken the step; with the last one it is done, if it is known how many there are. A node's success ends the trouble that it had there. */
export const advance = (operation: Operation, id: StepId, node: string, atMs: number): Operation => {
  const begun = withStep(start(operation, id, atMs), id, (step) => ({
    ...step,
    done: step.done.includes(node) ? step.done : [...step.done, node],
    state:
      step.state.status === 'running' && step.state.trouble?.node === node
        ? { ...step.state, trouble: undefined }
        : step.state,
  }));
  const step = stepsOf(begun).find(({ plan }) => plan.id === id);
  if (step?.plan.total !== undefined && step.done.length >= step.plan.total) return finish(begun, id, atMs);
  const after = next(begun, id);
  return after?.plan.overlaps === true ? start(begun, after.plan.id, atMs) : begun;
};

export const finished = (operation: Operation, atMs: number): Operation => ({
  ...mapSteps(operation, (step) =>
    step.state.status === 'done' || step.state.status === 'waiting'
      ? step
      : { ...step, state: { status: 'done', startedAtMs: step.state.startedAtMs, endedAtMs: atMs } },
  ),
  state: { status: 'done', endedAtMs: atMs },
});

/** infra-svc says why the machines cannot be had, then bootstrap-svc that the cluster has failed: that is one failure. */
export const failed = (operation: Operation, atMs: number, failure: Failure, serviceStep: string): Operation => {
  const known = stepsOf(operation).find(({ state }) => state.status === 'failed');
  const id = known?.plan.id ?? failingStep(operation, serviceStep);
  const trouble: Trouble = { message: failure.message, node: failure.node, nextAttemptAtMs: null };
  const marked = mapSteps(operation, (step) =>
    step.plan.id === id
      ? { ...step, state: { status: 'failed', startedAtMs: startedAtMsOf(step.state, atMs), endedAtMs: atMs, trouble } }
      : step,
  );
  return { ...marked, state: { status: 'failed', endedAtMs: atMs, failure } };
};

/** Where trouble belongs: the step of that name, or else the first one that runs. */
export const failingStep = (operation: Operation, serviceStep: string): StepId | undefined => {
  const steps = stepsOf(operation);
  const named = steps.find(({ plan }) => plan.id === serviceStep || plan.id === stepNamed(serviceStep));
  const running = steps.find(({ state }) => state.status === 'running');
  return (named === undefined || named.state.status === 'done' ? (running ?? named) : named)?.plan.id;
};

export const retried = (operation: Operation, event: EventView): Operation => ({
  ...mapSteps(operation, (step) =>
    step.state.status === 'failed' ? { ...step, state: { status: 'running', startedAtMs: timeOf(event) } } : step,
  ),
  state: { status: 'running' },
  wishSeq: event.seq,
  retries: operation.retries + 1,
});
