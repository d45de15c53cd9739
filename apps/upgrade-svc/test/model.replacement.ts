import type { Fact, NodeName } from '@fairlead/contracts';
import { machineOf } from '../src/nodes/nodes.fixtures.js';
import type { AgentStep } from './model.agent.js';
import { cp, modelNode, nodesOf, UID, w, type Model, type Replacement } from './model.js';

const change = (model: Model, to: Partial<Replacement>): Model =>
  model.replacement === null ? model : { ...model, replacement: { ...model.replacement, ...to } };

/** infra-svc reads requests for replacements, and pauses and the end of their upgrade. */
export const withRequest = (model: Model, fact: Fact): Model => {
  switch (fact.type) {
    case 'PoolReplacementRequested': {
      const { requestId, pool, nodes, version } = fact.data;
      const { unfit = 0, ever = 0 } = model.replacement ?? {};
      const begun = { current: null, begun: 0, isPaused: false, isOver: false };
      return { ...model, replacement: { requestId, pool, left: nodes, version, unfit, ever, ...begun } };
    }
    case 'RolloutPaused':
    case 'RolloutHalted':
      return change(model, { isPaused: true });
    case 'RolloutResumed':
      return change(model, { isPaused: false });
    case 'UpgradeAbortRequested':
      return change(model, { isOver: true });
    default:
      return model;
  }
};

type Act = AgentStep['act'];

const requestOf = ({ requestId, begun }: Replacement): string => `${requestId}-${begun}`;

const planned =
  (replacement: Replacement, node: NodeName): Act =>
  (model) => {
    const begun = replacement.begun + 1;
    const ever = replacement.ever + 1;
    const isControlPlane = model.nodes[node]?.role === 'control-plane';
    const newNode = (isControlPlane ? cp : w)(100 + ever);
    const { requestId: rollout, pool } = replacement;
    const data = { uid: UID, rollout, pool, node, order: 'create-first' as const, reason: 'another version' };
    const left = replacement.left.filter((name) => name !== node);
    return {
      model: change(model, { begun, ever, left, current: { node, newNode, stage: 'planned' } }),
      facts: [{ type: 'NodeReplacementPlanned', data: { ...data, requestId: requestOf({ ...replacement, begun }) } }],
    };
  };

type Current = NonNullable<Replacement['current']>;

const created =
  (replacement: Replacement, current: Current): Act =>
  (model) => {
    const role = model.nodes[current.node]?.role ?? 'worker';
    const machine = { ...machineOf(current.newNode), role, pool: replacement.pool };
    return {
      model: change(model, { current: { ...current, stage: 'created' } }),
      facts: [{ type: 'VmsCreated', data: { uid: UID, machines: [machine] } }],
    };
  };

const READY: Fact = { type: 'ClusterReady', data: { uid: UID } };

/** It is rolled back, and infra-svc stops the rollout of the pool. */
const failed = (model: Model, replacement: Replacement, { newNode }: Current) => {
  const cause = { operation: 'JoinWorker', target: newNode, message: 'it has no route to the API' };
  const of = { uid: UID, requestId: requestOf(replacement) };
  const more = { onFailure: 'rollback', step: 'JoinWorker', node: newNode, reason: 'JoinWorkerFailed', cause };
  return {
    model: change(model, { current: null, unfit: replacement.unfit - 1, isOver: true }),
    facts: [
      { type: 'NodesFailed', data: { ...of, nodes: [newNode], ...more } },
      READY,
      {
        type: 'PoolRolloutFailed',
        data: { uid: UID, requestId: replacement.requestId, pool: replacement.pool, cause },
      },
      { type: 'VmDeleted', data: { uid: UID, name: newNode } },
    ] as readonly Fact[],
  };
};

const joins =
  (replacement: Replacement, current: Current): Act =>
  (model) => {
    if (replacement.unfit > 0) return failed(model, replacement, current);
    const { node, newNode } = current;
    const role = model.nodes[node]?.role ?? 'worker';
    const fresh = modelNode(newNode, role, replacement.pool, replacement.version.slice(1));
    const at = { uid: UID, node: newNode, revision: 1, software: fresh.software };
    return {
      model: change(
        { ...model, nodes: { ...model.nodes, [newNode]: fresh } },
        { current: { ...current, stage: 'joined' } },
      ),
      facts: [
        { type: 'DesiredVersionsSet', data: { ...at, changesAllowed: false } },
        { type: 'NodeReady', data: at },
        { type: 'NodeReplacementReady', data: { uid: UID, requestId: requestOf(replacement), node, newNode } },
        READY,
      ],
    };
  };

const leaves =
  ({ node, newNode }: Current): Act =>
  (model) => {
    const { [node]: _gone, ...nodes } = model.nodes;
    const leader = model.leader === node ? newNode : model.leader;
    return {
      model: change({ ...model, nodes, leader }, { current: null }),
      facts: [
        { type: 'NodeRemoved', data: { uid: UID, node } },
        { type: 'VmDeleted', data: { uid: UID, name: node } },
      ],
    };
  };

const completed =
  ({ requestId, pool }: Replacement): Act =>
  (model) => ({
    model: change(model, { isOver: true }),
    facts: [{ type: 'PoolRolloutCompleted', data: { uid: UID, requestId, pool, heldBack: [] } }],
  });

const stepOf = (replacement: Replacement, current: Current): AgentStep => {
  const { node, newNode, stage } = current;
  switch (stage) {
    case 'planned':
      return { name: `${newNode} is made`, seconds: 10, act: created(replacement, current) };
    case 'created':
      return { name: `${newNode} joins`, seconds: 30, act: joins(replacement, current) };
    case 'joined':
      return { name: `${node} leaves`, seconds: 15, act: leaves(current) };
  }
};

/** The next step of infra-svc and bootstrap-svc for the nodes that an upgrade replaces, one after the other. */
export const replacementSteps = (model: Model): readonly AgentStep[] => {
  const { replacement } = model;
  if (replacement === null) return [];
  if (replacement.current !== null) return [stepOf(replacement, replacement.current)];
  if (replacement.isOver) return [];
  const next = replacement.left.find((name) => nodesOf(model).some((node) => node.name === name));
  if (next === undefined) return [{ name: 'the rollout is complete', seconds: 1, act: completed(replacement) }];
  return replacement.isPaused
    ? []
    : [{ name: `the replacement of ${next} is planned`, seconds: 1, act: planned(replacement, next) }];
};
