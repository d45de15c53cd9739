import type { EventType, OperationKind, OperationPhase, StepView } from '@fairlead/contracts';
import type { Milestone } from '../nodes/nodes.projection.js';

/** Which nodes of an operation a step is about; followers are the control planes that join the leader. */
export type Group = 'all' | 'follower' | 'worker';

export interface StepDefinition {
  readonly name: string;
  readonly title: string;
  /** The fact that ends the step. */
  readonly closedBy?: EventType;
  /** What each node of the group must have passed; without closedBy the step ends when all have. */
  readonly passed?: { readonly milestone: Milestone; readonly by: Group };
}

const MACHINES: StepDefinition = {
  name: 'create-machines',
  title: 'create the machines',
  closedBy: 'VmsCreated',
  passed: { milestone: 'created', by: 'all' },
};
const HOSTS: StepDefinition = {
  name: 'prepare-hosts',
  title: 'start the agents and prepare the hosts',
  passed: { milestone: 'bootstrapped', by: 'all' },
};
const JOIN_WORKERS: StepDefinition = {
  name: 'join-workers',
  title: 'join the workers',
  passed: { milestone: 'joined', by: 'worker' },
};
const NODES_READY: StepDefinition = {
  name: 'nodes-ready',
  title: 'wait until the nodes are Ready',
  passed: { milestone: 'ready', by: 'all' },
};

const CREATE: readonly StepDefinition[] = [
  { name: 'validate', title: 'check the request against the world', closedBy: 'ClusterAccepted' },
  { name: 'shared-resources', title: 'ensure network, firewall, key, image and specs', closedBy: 'VmsPlanned' },
  MACHINES,
  { name: 'load-balancer', title: 'ensure the address of the API', closedBy: 'LoadBalancerReady' },
  HOSTS,
  { name: 'init-control-plane', title: 'initialise the leading control plane', closedBy: 'ControlPlaneInitialized' },
  { name: 'install-network', title: 'install the pod network', closedBy: 'NetworkReady' },
  {
    name: 'join-control-planes',
    title: 'join the other control planes, one at a time',
    closedBy: 'ControlPlaneReady',
    passed: { milestone: 'joined', by: 'follower' },
  },
  JOIN_WORKERS,
  NODES_READY,
  { name: 'install-addons', title: 'install the addons', closedBy: 'ClusterReady' },
];

/** What each kind of operation consists of, in order. A retry has the steps of what it retries. */
export const STEPS: Readonly<Record<Exclude<OperationKind, 'retry'>, readonly StepDefinition[]>> = {
  create: CREATE,
  'add-nodes': [
    { name: 'plan-machines', title: 'check and plan the machines', closedBy: 'VmsPlanned' },
    MACHINES,
    HOSTS,
    JOIN_WORKERS,
    { ...NODES_READY, closedBy: 'ClusterReady' },
  ],
  'remove-node': [
    { name: 'drain', title: 'move its pods away', closedBy: 'NodeDrained' },
    { name: 'remove-node', title: 'take it out of Kubernetes and etcd', closedBy: 'NodeRemoved' },
    { name: 'delete-machine', title: 'delete its machine', closedBy: 'VmDeleted' },
  ],
  delete: [
    { name: 'dismantle', title: 'stop what runs and release what it holds', closedBy: 'ClusterDismantled' },
    { name: 'delete-load-balancer', title: 'delete the load balancer', closedBy: 'LoadBalancerDeleted' },
    { name: 'delete-machines', title: 'delete the machines', closedBy: 'ClusterDeleted' },
  ],
  // Its nodes are told by the upgrade itself.
  upgrade: [
    { name: 'plan', title: 'check the rules and plan', closedBy: 'UpgradePlanned' },
    { name: 'approve', title: 'wait for the approval of the plan', closedBy: 'RolloutStarted' },
    { name: 'roll-out', title: 'change node after node', closedBy: 'RolloutCompleted' },
  ],
};

/** How many nodes an operation is about. Kept with it, since the nodes may be gone when it is looked at. */
export type Planned = Readonly<Record<Group, number>>;

/** How far the nodes of an operation are: by milestone and group, how many have passed and when the last one did. */
export interface Passed {
  readonly done: number;
  readonly lastAt: string | null;
}
export type PassedOf = (milestone: Milestone, group: Group) => Passed;

export interface Course {
  readonly kind: Exclude<OperationKind, 'retry'>;
  readonly phase: OperationPhase;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** When each closing fact was stated. */
  readonly marks: { readonly [T in EventType]?: string };
  readonly planned: Planned;
}

interface Closed {
  readonly definition: StepDefinition;
  readonly passed: (Passed & { readonly total: number }) | undefined;
  readonly at: string | undefined;
}

const closing = (course: Course, passedOf: PassedOf): readonly Closed[] =>
  STEPS[course.kind].map((definition) => {
    const { milestone, by } = definition.passed ?? {};
    const passed =
      milestone === undefined || by === undefined
        ? undefined
        : { ...passedOf(milestone, by), total: course.planned[by] };
    const marked = definition.closedBy && course.marks[definition.closedBy];
    const all = passed !== undefined && passed.total > 0 && passed.done === passed.total;
    const counted = definition.closedBy === undefined && all ? (passed?.lastAt ?? undefined) : undefined;
    return { definition, passed, at: marked ?? counted };
  });

/** A step that nobody closed is over when a later one is: a cluster without workers has none to join. */
const inherit = (steps: readonly Closed[], course: Course): readonly Closed[] => {
  const end = course.phase === 'Succeeded' ? (course.finishedAt ?? undefined) : undefined;
  return steps.map((step, index) => ({
    ...step,
    at: step.at ?? steps.slice(index + 1).find((later) => later.at !== undefined)?.at ?? end,
  }));
};

const durationMs = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from));

/** The steps of an operation as they stand. A step begins when the one before it ends. */
export const stepViews = (course: Course, passedOf: PassedOf): readonly StepView[] => {
  let startedAt = course.startedAt;
  let open = true;
  return inherit(closing(course, passedOf), course).map(({ definition, passed, at }): StepView => {
    const named = { name: definition.name, title: definition.title };
    if (at !== undefined) {
      const began = startedAt < at ? startedAt : at;
      startedAt = at;
      const counts = passed === undefined ? NO_COUNT : { done: passed.total, total: passed.total };
      return {
        ...named,
        ...counts,
        state: 'done',
        startedAt: began,
        finishedAt: at,
        durationMs: durationMs(began, at),
      };
    }
    const counts = passed === undefined ? NO_COUNT : { done: passed.done, total: passed.total };
    const current = open;
    open = false;
    const state = !current || course.phase === 'Superseded' ? 'waiting' : stateOf(course.phase);
    return { ...named, ...counts, state, startedAt: current ? startedAt : null, finishedAt: null, durationMs: null };
  });
};

const NO_COUNT = { done: null, total: null } as const;

const stateOf = (phase: OperationPhase): 'running' | 'failed' => (phase === 'Failed' ? 'failed' : 'running');

export const currentStepOf = (steps: readonly StepView[]): StepView | undefined =>
  steps.find((step) => step.state === 'running' || step.state === 'failed');
