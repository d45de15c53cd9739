import type { ClusterAt, EventView } from '../api/api.ports.js';
import {
  phasesOf,
  stepNamed,
  type OperationKind,
  type PhasePlan,
  type Shape,
  type StepId,
  type StepPlan,
} from './operations.js';

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

const OPERATIONS_KEPT_MAX = 50;

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

/** Adds one event. Events seen before, of another incarnation, or of a type that tells nothing here change nothing but the position. */
export const project = (progress: Progress, event: EventView): Progress => {
  if (event.seq <= progress.lastSeq) return progress;
  const seen = { ...progress, lastSeq: event.seq, lastTimeMs: timeOf(event) };
  const { uid } = event.data;
  if (event.type !== 'ClusterRequested' && uid !== undefined && uid !== progress.uid) return seen;
  return EVOLVE[event.type]?.(seen, event) ?? seen;
};

type Evolve = (progress: Progress, event: EventView) => Progress;

const timeOf = ({ time }: EventView): number => Date.parse(time);

// The gateway promises the shapes of the event catalogue; what is read here is still read with care, because a newer server may say more.
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(recordOf) : [];
const countOf = (sets: unknown): number => listOf(sets).reduce((sum, { count }) => sum + numberOf(count), 0);

// --- operations and steps ---------------------------------------------------------------------------------------------------------

const openPhase = ({ title, steps }: PhasePlan): Phase => ({
  title,
  steps: steps.map((plan) => ({ plan, state: { status: 'waiting' }, done: [] })),
});

const begin = (progress: Progress, event: EventView, kind: OperationKind, shape: Shape): Progress => {
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

const withOperation = (progress: Progress, change: (operation: Operation) => Operation): Progress => {
  const operation = currentOperation(progress);
  return operation === undefined
    ? progress
    : { ...progress, operations: [...progress.operations.slice(0, -1), change(operation)] };
};

const stepsOf = ({ phases }: Pick<Operation, 'phases'>): readonly Step[] => phases.flatMap(({ steps }) => steps);

const mapSteps = (operation: Operation, change: (step: Step) => Step): Operation => ({
  ...operation,
  phases: operation.phases.map((phase) => ({ ...phase, steps: phase.steps.map(change) })),
});

const withStep = (operation: Operation, id: StepId, change: (step: Step) => Step): Operation =>
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
const finish = (operation: Operation, id: StepId, atMs: number): Operation => {
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
const advance = (operation: Operation, id: StepId, node: string, atMs: number): Operation => {
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

const finished = (operation: Operation, atMs: number): Operation => ({
  ...mapSteps(operation, (step) =>
    step.state.status === 'done' || step.state.status === 'waiting'
      ? step
      : { ...step, state: { status: 'done', startedAtMs: step.state.startedAtMs, endedAtMs: atMs } },
  ),
  state: { status: 'done', endedAtMs: atMs },
});

/** infra-svc says why the machines cannot be had, then bootstrap-svc that the cluster has failed: that is one failure. */
const failed = (operation: Operation, atMs: number, failure: Failure, serviceStep: string): Operation => {
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
const failingStep = (operation: Operation, serviceStep: string): StepId | undefined => {
  const steps = stepsOf(operation);
  const named = steps.find(({ plan }) => plan.id === serviceStep || plan.id === stepNamed(serviceStep));
  const running = steps.find(({ state }) => state.status === 'running');
  return (named === undefined || named.state.status === 'done' ? (running ?? named) : named)?.plan.id;
};

const retried = (operation: Operation, event: EventView): Operation => ({
  ...mapSteps(operation, (step) =>
    step.state.status === 'failed' ? { ...step, state: { status: 'running', startedAtMs: timeOf(event) } } : step,
  ),
  state: { status: 'running' },
  wishSeq: event.seq,
  retries: operation.retries + 1,
});

// --- nodes ------------------------------------------------------------------------------------------------------------------------

const withNode = (progress: Progress, name: string, change: (node: NodeProgress) => NodeProgress): Progress => ({
  ...progress,
  nodes: progress.nodes.map((node) => (node.name === name ? change(node) : node)),
});

/** The node got that far (never back, but for Ready and NotReady, which alternate). */
const reached = (progress: Progress, name: string, stage: NodeStage, atMs: number): Progress =>
  withNode(progress, name, (node) => {
    const goesBack =
      NODE_STAGES.indexOf(stage) < NODE_STAGES.indexOf(node.stage) &&
      !(stage === 'ready' && node.stage === 'not-ready');
    return { ...node, trouble: undefined, ...(goesBack ? {} : { stage, sinceMs: atMs }) };
  });

const planned = (progress: Progress, event: EventView): Progress => {
  const known = new Set(progress.nodes.map(({ name }) => name));
  const added = listOf(event.data['machines'])
    .filter(({ name }) => !known.has(textOf(name)))
    .map(({ name, role }): NodeProgress => ({
      name: textOf(name),
      role: role === 'control-plane' ? 'control-plane' : 'worker',
      stage: 'planned',
      sinceMs: timeOf(event),
      lost: false,
    }));
  return { ...progress, nodes: [...progress.nodes, ...added] };
};

const shapeOfNodes = (nodes: readonly NodeProgress[]): Shape => ({
  controlPlanes: nodes.filter(({ role }) => role === 'control-plane').length,
  workers: nodes.filter(({ role }) => role === 'worker').length,
});

// --- events -----------------------------------------------------------------------------------------------------------------------

/** A node took a step: both the step and the node move on. */
const nodeStep =
  (id: StepId, stage: NodeStage): Evolve =>
  (progress, event) => {
    const node = textOf(event.data['node']);
    const moved = reached(progress, node, stage, timeOf(event));
    return withOperation(moved, (operation) => advanceIfPart(operation, id, node, event));
  };

/** An operation that does not contain the step (a node that becomes Ready again later) is not touched. */
const advanceIfPart = (operation: Operation, id: StepId, node: string, event: EventView): Operation =>
  operation.state.status === 'running' && stepsOf(operation).some(({ plan }) => plan.id === id)
    ? advance(operation, id, node, timeOf(event))
    : operation;

const oneStep =
  (id: StepId, note?: (event: EventView) => string): Evolve =>
  (progress, event) =>
    withOperation(progress, (operation) => {
      const ended = finish(operation, id, timeOf(event));
      return note === undefined ? ended : withStep(ended, id, (step) => ({ ...step, note: note(event) }));
    });

const stepTrouble: Evolve = (progress, { data }) => {
  const cause = recordOf(data['cause']);
  const next = data['nextAttemptAt'];
  const node = typeof data['node'] === 'string' ? data['node'] : undefined;
  const trouble: Trouble = {
    message: sentenceOfCause(cause),
    node,
    attempt: numberOf(data['attempt']),
    attemptsMax: numberOf(data['attemptsMax']),
    nextAttemptAtMs: typeof next === 'string' ? Date.parse(next) : null,
  };
  const marked = node === undefined ? progress : withNode(progress, node, (known) => ({ ...known, trouble }));
  return withOperation(marked, (operation) => {
    const id = failingStep(operation, textOf(data['step']));
    return mapSteps(operation, (step) =>
      step.plan.id === id && step.state.status === 'running' ? { ...step, state: { ...step.state, trouble } } : step,
    );
  });
};

/** The same sentence as `sentenceOf` of contracts, from an event of any version. */
const sentenceOfCause = ({ operation, target, message }: Readonly<Record<string, unknown>>): string =>
  `${textOf(operation)} on ${textOf(target)} failed: ${textOf(message)}`;

const ended =
  (failureOf: (data: EventView['data']) => Failure): Evolve =>
  (progress, event) => {
    const failure = failureOf(event.data);
    const { node } = failure;
    const marked =
      node === undefined
        ? progress
        : withNode(progress, node, (known) => ({
            ...known,
            trouble: { message: failure.message, node, nextAttemptAtMs: null },
          }));
    return withOperation(marked, (operation) => failed(operation, timeOf(event), failure, textOf(event.data['step'])));
  };

const failureOfCause = (data: EventView['data']): Failure => ({
  code: textOf(data['reason']),
  message: sentenceOfCause(recordOf(data['cause'])),
  node: typeof data['node'] === 'string' ? data['node'] : undefined,
  rejected: false,
});

const requested: Evolve = (progress, event) => {
  const spec = recordOf(event.data['spec']);
  const shape = { controlPlanes: numberOf(recordOf(spec['controlPlane'])['count']), workers: countOf(spec['workers']) };
  const fresh: Progress = {
    ...noProgress(progress.at),
    lastSeq: event.seq,
    lastTimeMs: timeOf(event),
    uid: textOf(event.data['uid']),
    version: textOf(recordOf(spec['kubernetes'])['version']),
  };
  return begin(fresh, event, 'create', shape);
};

const removalRequested: Evolve = (progress, event) => {
  const current = currentOperation(progress);
  if (current?.kind !== 'remove-nodes' || current.state.status !== 'running') {
    return begin(progress, event, 'remove-nodes', { controlPlanes: 0, workers: 1 });
  }
  // One more while others are on their way: they are one operation.
  return withOperation(progress, (operation) => ({
    ...mapSteps(operation, (step) => ({
      ...step,
      plan: { ...step.plan, total: (step.plan.total ?? 0) + 1 },
      state: step.state.status === 'done' ? { status: 'running', startedAtMs: step.state.startedAtMs } : step.state,
    })),
    wishSeq: event.seq,
  }));
};

const machineDeleted: Evolve = (progress, event) => {
  const name = textOf(event.data['name']);
  const left = { ...progress, nodes: progress.nodes.filter((node) => node.name !== name) };
  return withOperation(left, (operation) => {
    const advanced = advanceIfPart(operation, 'delete-machines', name, event);
    const isWhole = advanced.kind === 'remove-nodes' && stepsOf(advanced).every(({ state }) => state.status === 'done');
    return isWhole ? finished(advanced, timeOf(event)) : advanced;
  });
};

const ready: Evolve = (progress, event) => {
  const node = textOf(event.data['node']);
  const kubelet = recordOf(event.data['software'])['kubelet'];
  const versioned = withNode(progress, node, (known) => ({
    ...known,
    lost: false,
    version: typeof kubelet === 'string' ? `v${kubelet.replace(/^v/, '')}` : known.version,
  }));
  return nodeStep('nodes-ready', 'ready')(withVersion(versioned), event);
};

/** An upgrade changes what was asked for: the cluster is as old as the oldest of its control planes. */
const withVersion = (progress: Progress): Progress => {
  const versions = progress.nodes.flatMap(({ role, version }) =>
    role === 'control-plane' && version !== undefined ? [version] : [],
  );
  const [oldest] = versions.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  return { ...progress, version: oldest ?? progress.version };
};

const notReady: Evolve = (progress, { data, time }) =>
  withNode(progress, textOf(data['node']), (node) => ({
    ...node,
    stage: node.stage === 'ready' ? 'not-ready' : node.stage,
    sinceMs: Date.parse(time),
    trouble: { message: textOf(data['message']) || textOf(data['reason']) },
  }));

const softwareTrouble: Evolve = (progress, { data }) =>
  withNode(progress, textOf(data['node']), (node) => ({
    ...node,
    trouble: {
      message: `${textOf(data['command'])} failed: ${textOf(data['message'])}`,
      attempt: numberOf(data['attempt']),
    },
  }));

const EVOLVE: Readonly<Record<string, Evolve | undefined>> = {
  ClusterRequested: requested,
  ClusterRetryRequested: (progress, event) => {
    const cleared = { ...progress, nodes: progress.nodes.map((node) => ({ ...node, trouble: undefined })) };
    return withOperation(cleared, (operation) => retried(operation, event));
  },
  ClusterAccepted: oneStep('validate'),
  ClusterRejected: ended((data) => ({ code: textOf(data['code']), message: textOf(data['message']), rejected: true })),
  VmsPlanned: (progress, event) => oneStep('resources')(planned(progress, event), event),
  VmCreated: (progress, event) => {
    const name = textOf(recordOf(event.data['machine'])['name']);
    const moved = reached(progress, name, 'created', timeOf(event));
    return withOperation(moved, (operation) => advanceIfPart(operation, 'machines', name, event));
  },
  VmsCreated: oneStep('machines'),
  LoadBalancerReady: (progress, event) => {
    const endpoint = `${textOf(event.data['host'])}:${numberOf(event.data['port'])}`;
    return oneStep('load-balancer', () => endpoint)({ ...progress, endpoint }, event);
  },
  NodesRejected: ended((data) => ({ code: textOf(data['code']), message: textOf(data['message']), rejected: true })),
  InfrastructureStepFailed: stepTrouble,
  InfrastructureFailed: ended(failureOfCause),
  HostReached: nodeStep('reach', 'reached'),
  AgentStarted: nodeStep('agents', 'agent'),
  NodeInitialized: nodeStep('software', 'software'),
  NodeInitializationFailed: softwareTrouble,
  NodeBootstrapped: nodeStep('verify', 'prepared'),
  ControlPlaneInitialized: (progress, event) => {
    const node = textOf(event.data['node']);
    return oneStep('init', () => node)(reached(progress, node, 'joined', timeOf(event)), event);
  },
  NetworkReady: oneStep('network', ({ data }) => [data['cni'], data['version']].map(textOf).join(' ').trim()),
  ControlPlaneJoined: nodeStep('join-control-planes', 'joined'),
  ControlPlaneReady: oneStep('control-plane-health'),
  WorkerJoined: nodeStep('join-workers', 'joined'),
  NodeReady: ready,
  NodeNotReady: notReady,
  NodeLost: (progress, { data }) => withNode(progress, textOf(data['node']), (node) => ({ ...node, lost: true })),
  NodeRecovered: (progress, { data }) => withNode(progress, textOf(data['node']), (node) => ({ ...node, lost: false })),
  AddonInstalled: (progress, event) => {
    const addon = textOf(event.data['addon']);
    return withOperation(progress, (operation) => advanceIfPart(operation, 'addons', addon, event));
  },
  BootstrapStepFailed: stepTrouble,
  ClusterFailed: ended(failureOfCause),
  ClusterReady: (progress, event) =>
    withOperation(progress, (operation) =>
      operation.kind === 'create' || operation.kind === 'add-nodes' ? finished(operation, timeOf(event)) : operation,
    ),
  NodesRequested: (progress, event) =>
    begin(progress, event, 'add-nodes', { controlPlanes: 0, workers: countOf(event.data['workers']) }),
  NodeRemovalRequested: removalRequested,
  NodeDrained: nodeStep('drain', 'drained'),
  NodeRemoved: nodeStep('leave', 'left'),
  ClusterDeletionRequested: (progress, event) => begin(progress, event, 'delete', shapeOfNodes(progress.nodes)),
  ClusterDismantled: oneStep('dismantle'),
  LoadBalancerDeleted: oneStep('delete-load-balancer'),
  VmDeleted: machineDeleted,
  ClusterDeleted: (progress, event) => withOperation(progress, (operation) => finished(operation, timeOf(event))),
};
