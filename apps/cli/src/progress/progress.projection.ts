import type { EventView } from '../api/api.ports.js';
import { countOf, numberOf, recordOf, textOf, timeOf } from './event.fields.js';
import { planned, reached, shapeOfNodes, withNode } from './nodes.evolve.js';
import {
  advance,
  begin,
  failed,
  failingStep,
  finish,
  finished,
  mapSteps,
  retried,
  stepsOf,
  withOperation,
  withStep,
} from './operation.evolve.js';
import type { StepId } from './operations.js';
import {
  currentOperation,
  noProgress,
  type Failure,
  type NodeStage,
  type Operation,
  type Progress,
  type Trouble,
} from './progress.js';

/** Adds one event. Events seen before, of another incarnation, or of a type that tells nothing here change nothing but the position. */
export const project = (progress: Progress, event: EventView): Progress => {
  if (event.seq <= progress.lastSeq) return progress;
  const seen = { ...progress, lastSeq: event.seq, lastTimeMs: timeOf(event) };
  const { uid } = event.data;
  if (event.type !== 'ClusterRequested' && uid !== undefined && uid !== progress.uid) return seen;
  return EVOLVE[event.type]?.(seen, event) ?? seen;
};

type Evolve = (progress: Progress, event: EventView) => Progress;

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

/** A node that cannot leave ends its removal, until a retry. */
const bootstrapTrouble: Evolve = (progress, event) => {
  const { data } = event;
  const isStuck = textOf(data['step']) === 'RemoveNode' && data['nextAttemptAt'] === null;
  const isRemoval = currentOperation(progress)?.kind === 'remove-nodes';
  return isStuck && isRemoval ? ended(failureOfCause)(progress, event) : stepTrouble(progress, event);
};

/** What was rolled back is over; what was kept goes on with a retry. */
const requestFailed: Evolve = ended((data) => ({
  ...failureOfCause(data),
  ...(data['onFailure'] === 'rollback' ? { final: true as const } : {}),
}));

const ABANDONED: Failure = {
  code: '',
  message: 'The request for nodes was given up',
  node: undefined,
  rejected: false,
  final: true,
};

/** Machines that the provider does not delete: each of them shows why, and when the next attempt is. */
const notDeleted: Evolve = (progress, event) => {
  const { data } = event;
  const names = Array.isArray(data['machines']) ? data['machines'].map(textOf) : [];
  const trouble: Trouble = {
    message: sentenceOfCause(recordOf(data['cause'])),
    attempt: numberOf(data['attempt']),
    nextAttemptAtMs: Date.parse(textOf(data['nextAttemptAt'])),
  };
  const told = names.reduce((before, name) => withNode(before, name, (node) => ({ ...node, trouble })), progress);
  return stepTrouble(told, { ...event, data: { ...data, step: 'delete machines', attemptsMax: data['attempt'] } });
};

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
    return withOperation(cleared, (operation) =>
      operation.state.status === 'failed' && operation.state.failure.final !== true
        ? retried(operation, event)
        : { ...operation, wishSeq: event.seq },
    );
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
  VmsFailed: requestFailed,
  NodesFailed: requestFailed,
  NodesAbandoned: (progress, event) =>
    withOperation(progress, (operation) =>
      operation.kind === 'add-nodes' && operation.state.status === 'running'
        ? failed(operation, timeOf(event), ABANDONED, '')
        : operation,
    ),
  VmDeletionFailed: notDeleted,
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
  BootstrapStepFailed: bootstrapTrouble,
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
