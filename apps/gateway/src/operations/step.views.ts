import type { EventType, OperationPhase, StepFailureView, StepView } from '@fairlead/contracts';
import type { StepSequence as Kind } from './step.sequence.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import type { ActedNodes } from './node.actions.evolve.js';
import { progressOf, type StepProgress, type Planned } from './step.progress.js';
import { STEPS, type StepDefinition } from './steps.js';

/** What the steps of an operation follow from. */
export interface OperationProgress {
  readonly kind: Kind;
  readonly phase: OperationPhase;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** When each closing fact was stated, and what it resulted in. */
  readonly marks: { readonly [T in EventType]?: string };
  readonly notes: { readonly [T in EventType]?: string };
  readonly planned: Planned;
  readonly deleted: number;
  /** Nodes that are asked for an action; absent: none are. */
  readonly acted?: ActedNodes | undefined;
  /** Connections whose reservations have not begun; absent: no machines are reserved. */
  readonly reserving?: readonly string[] | undefined;
  readonly nodes: readonly NodeDoc[];
  /** Failed attempts, oldest first. */
  readonly failures: readonly StepFailureView[];
  /** The step at which it failed, in the words of the service. */
  readonly failedStep: string | null;
}

interface Placed {
  readonly definition: StepDefinition;
  readonly passed: StepProgress | undefined;
  readonly beganAt: string | undefined;
  readonly endedAt: string | undefined;
}

const closedAt = (
  course: OperationProgress,
  { closedBy }: StepDefinition,
  passed: StepProgress | undefined,
): string | undefined => {
  if (closedBy !== undefined) return course.marks[closedBy];
  return passed !== undefined && passed.done > 0 && passed.done >= passed.total ? passed.lastAt : undefined;
};

/** A step that nothing closed is over when the closing fact of a later one is there. */
const inheritedEnd = (course: OperationProgress, later: readonly StepDefinition[]): string | undefined => {
  const marks = later.flatMap(({ closedBy }) => (closedBy === undefined ? [] : (course.marks[closedBy] ?? [])));
  return marks[0] ?? (course.phase === 'Succeeded' ? (course.finishedAt ?? undefined) : undefined);
};

const earliest = (...times: readonly (string | undefined)[]): string | undefined =>
  times.filter((time) => time !== undefined).toSorted()[0];

const isPart = ({ marks, reserving }: OperationProgress, { onlyAfter, reserves }: StepDefinition): boolean =>
  (onlyAfter === undefined || marks[onlyAfter] !== undefined) && (reserves !== true || reserving !== undefined);

/** A step begins when the one before it ends, or when the first node is through it: workers join beside control planes. */
const placed = (course: OperationProgress): readonly Placed[] => {
  const steps = STEPS[course.kind]
    .filter((definition) => isPart(course, definition))
    .map((definition) => ({ definition, passed: progressOf(definition, course) }))
    // A step about workers is left out where there are none.
    .filter(({ definition, passed }) => definition.deletes === true || passed?.total !== 0);
  let before: Placed | undefined;
  return steps.map(({ definition, passed }, index): Placed => {
    const later = steps.slice(index + 1).map((step) => step.definition);
    const endedAt = closedAt(course, definition, passed) ?? inheritedEnd(course, later);
    const beganAt = earliest(
      before === undefined ? course.startedAt : before.endedAt,
      passed?.firstAt,
      definition.overlaps === true ? before?.passed?.firstAt : undefined,
      endedAt,
    );
    before = { definition, passed, beganAt, endedAt };
    return before;
  });
};

const isOpen = ({ beganAt, endedAt }: Placed): boolean => beganAt !== undefined && endedAt === undefined;

/** The step that a service means; undefined: one that ours has no name for. */
const stepOf = (steps: readonly Placed[], attempt: string): Placed | undefined =>
  steps.find(({ definition: { name, attempts = [] } }) => name === attempt || attempts.includes(attempt));

/** Of a failed attempt at something without a name here, the step that runs shows it. */
const stepOfFailure = (steps: readonly Placed[], { step, at }: StepFailureView): Placed | undefined => {
  const named = stepOf(steps, step);
  if (named !== undefined) return named;
  const running = steps.find(isOpen);
  return running?.beganAt !== undefined && running.beganAt <= at ? running : undefined;
};

const isThrough = ({ definition, endedAt }: Placed, node: string | null, nodes: readonly NodeDoc[]): boolean => {
  if (endedAt !== undefined) return true;
  const { passed } = definition;
  if (node === null || passed === undefined) return false;
  return nodes.find(({ name }) => name === node)?.milestones[passed.milestone] !== undefined;
};

/** Failed attempts that no success followed, by the name of their step; the latest comes last. */
const openFailures = (
  course: OperationProgress,
  steps: readonly Placed[],
): readonly (readonly [string, StepFailureView])[] =>
  course.failures.flatMap((failure) => {
    const step = stepOfFailure(steps, failure);
    if (step === undefined || isThrough(step, failure.node, course.nodes)) return [];
    return [[step.definition.name, failure] as const];
  });

const failedName = (course: OperationProgress, steps: readonly Placed[]): string | undefined => {
  if (course.phase !== 'Failed' && course.phase !== 'Rejected') return undefined;
  const named = course.failedStep === null ? undefined : stepOf(steps, course.failedStep);
  const step = named !== undefined && named.endedAt === undefined ? named : steps.find(isOpen);
  return step?.definition.name;
};

const durationMs = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from));

const countsOf = ({ passed, endedAt }: Placed): Pick<StepView, 'done' | 'total'> => {
  if (passed === undefined) return { done: null, total: null };
  return { done: endedAt === undefined ? passed.done : passed.total, total: passed.total };
};

const stateOf = (step: Placed, failed: string | undefined, phase: OperationPhase): StepView['state'] => {
  if (step.endedAt !== undefined) return 'done';
  if (step.definition.name === failed) return 'failed';
  return phase === 'Running' && isOpen(step) ? 'running' : 'waiting';
};

/** The steps of an operation as they stand. */
export const stepViews = (course: OperationProgress): readonly StepView[] => {
  const steps = placed(course);
  const failures = new Map(openFailures(course, steps));
  const failed = failedName(course, steps);
  return steps.map((step): StepView => {
    const { name, title, group, closedBy, notedBy = closedBy } = step.definition;
    const { beganAt = null, endedAt = null } = step;
    const state = stateOf(step, failed, course.phase);
    return {
      name,
      title,
      group,
      state,
      startedAt: state === 'waiting' ? null : beganAt,
      finishedAt: endedAt,
      durationMs: beganAt === null || endedAt === null ? null : durationMs(beganAt, endedAt),
      ...countsOf(step),
      note: (notedBy && course.notes[notedBy]) ?? '',
      failure: failures.get(name) ?? null,
    };
  });
};

/** The step that failed, or the first one that runs. */
export const currentStepOf = (steps: readonly StepView[]): StepView | undefined =>
  steps.find(({ state }) => state === 'failed') ?? steps.find(({ state }) => state === 'running');
