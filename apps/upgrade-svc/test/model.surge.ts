import type { Fact, Machine, UpgradeId } from '@fairlead/contracts';
import { machineOf, planOf } from '../src/nodes/nodes.fixtures.js';
import type { AgentStep } from './model.agent.js';
import { type Model, modelNode, nodesOf, type Surge, UID, w } from './model.js';

/** infra-svc and bootstrap-svc handle the surge facts of the rollout. */
export const heard = (model: Model, fact: Fact): Model => {
  const { surge } = model;
  switch (fact.type) {
    case 'SurgeRequested': {
      const { upgradeId, pool, count: desired } = fact.data;
      return { ...model, surge: { ...surge, upgradeId, pool, desired } };
    }
    case 'SurgeReleased':
    case 'SurgeFailed': {
      const machines = surge.machines.map((machine) => ({ ...machine, leaving: true }));
      return { ...model, surge: { ...surge, desired: 0, machines } };
    }
    default:
      return model;
  }
};

type SurgeMachine = Surge['machines'][number];

const withExtra = (model: Model, { name }: SurgeMachine, change: Partial<SurgeMachine> | null): Model => {
  const machines = model.surge.machines.flatMap((machine) =>
    machine.name === name ? (change === null ? [] : [{ ...machine, ...change }]) : [machine],
  );
  return { ...model, surge: { ...model.surge, machines } };
};

const extraMachine = ({ surge }: Model, { name }: SurgeMachine): Machine => ({
  ...machineOf(name),
  pool: surge.pool,
  ...(surge.upgradeId === null ? {} : { surge: surge.upgradeId }),
});

const stepNotDone = (step: string, { name }: SurgeMachine, message: string): Fact => ({
  type: 'BootstrapStepFailed',
  data: {
    uid: UID,
    step,
    node: name,
    cause: { operation: step, target: name, message },
    attempt: 5,
    attemptsMax: 5,
    nextAttemptAt: null,
  },
});

type Act = AgentStep['act'];

/** bootstrap-svc is not waiting for another machine. */
const READY: Fact = { type: 'ClusterReady', data: { uid: UID } };

/** It joins with the version of the control planes, which have reached the target. */
const joins =
  (extra: SurgeMachine): Act =>
  (model) => {
    if (model.surge.unfit) {
      const given = { ...model, surge: { ...model.surge, desired: model.surge.desired - 1, unfit: false } };
      return {
        model: withExtra(given, extra, { leaving: true }),
        facts: [stepNotDone('JoinWorker', extra, 'it has no route to the API'), READY],
      };
    }
    const node = modelNode(extra.name, 'worker', model.surge.pool, model.proxy);
    const { revision, software } = node.desired;
    const at = { uid: UID, node: extra.name, revision, software };
    return {
      model: withExtra({ ...model, nodes: { ...model.nodes, [extra.name]: node } }, extra, { stage: 'node' }),
      facts: [
        { type: 'DesiredVersionsSet', data: { ...at, changesAllowed: false } },
        { type: 'NodeReady', data: at },
        READY,
      ],
    };
  };

const leaves =
  (extra: SurgeMachine): Act =>
  (model) => {
    // It remains unchanged until it is released again.
    if (model.surge.stays > 0) {
      const stuck = withExtra(model, extra, { leaving: false });
      return {
        model: { ...stuck, surge: { ...stuck.surge, stays: stuck.surge.stays - 1 } },
        facts: [stepNotDone('RemoveNode', extra, 'the API server does not answer')],
      };
    }
    const { [extra.name]: _gone, ...nodes } = model.nodes;
    return {
      model: withExtra({ ...model, nodes }, extra, { stage: 'removed' }),
      facts: [
        { type: 'NodeRemoved', data: { uid: UID, node: extra.name } },
        ...(extra.stage === 'running' ? [READY] : []),
      ],
    };
  };

const deleted =
  (extra: SurgeMachine): Act =>
  (model) => ({
    model: withExtra(model, extra, null),
    facts: [{ type: 'VmDeleted', data: { uid: UID, name: extra.name } }],
  });

const created =
  (extra: SurgeMachine): Act =>
  (model) => ({
    model: withExtra(model, extra, { stage: 'running' }),
    facts: [{ type: 'VmsCreated', data: { uid: UID, machines: [extraMachine(model, extra)] } }],
  });

const stepOfExtra = (extra: SurgeMachine): AgentStep => {
  const { name, stage, leaving } = extra;
  switch (stage) {
    case 'planned':
      return leaving
        ? { name: `${name} is deleted`, seconds: 2, act: deleted(extra) }
        : { name: `${name} is made`, seconds: 10, act: created(extra) };
    case 'running':
    case 'node':
      if (leaving) return { name: `${name} leaves`, seconds: 15, act: leaves(extra) };
      return { name: `${name} joins`, seconds: 30, act: joins(extra) };
    case 'removed':
      return { name: `${name} is deleted`, seconds: 2, act: deleted(extra) };
  }
};

const planned: Act = (model) => {
  const { surge } = model;
  const cause = { operation: 'create machines', target: surge.pool, message: 'no host is free' };
  const ref = { uid: UID, upgradeId: surge.upgradeId as UpgradeId, pool: surge.pool };
  if (surge.stock === 0) return { model, facts: [{ type: 'SurgeFailed', data: { ...ref, cause } }] };
  const workers = nodesOf(model).filter(({ role, name }) => role === 'worker' && !isExtra(model, name)).length;
  const name = w(workers + surge.ever + 1);
  const machines = [...surge.machines, { name, stage: 'planned' as const, leaving: false }];
  return {
    model: { ...model, surge: { ...surge, ever: surge.ever + 1, stock: surge.stock - 1, machines } },
    facts: [
      { type: 'VmsPlanned', data: { uid: UID, machines: [{ ...planOf(name), pool: ref.pool, surge: ref.upgradeId }] } },
    ],
  };
};

export const isExtra = ({ surge }: Model, name: string): boolean =>
  surge.machines.some((machine) => machine.name === name);

/**
 * The possible next steps of infra-svc and bootstrap-svc on surge machines. A machine that is a node and stays needs
 * none.
 */
export const surgeSteps = (model: Model): readonly AgentStep[] => {
  const { machines, desired } = model.surge;
  const staying = machines.filter(({ leaving }) => !leaving);
  return [
    ...(staying.length < desired ? [{ name: 'surge machines are planned', seconds: 1, act: planned }] : []),
    ...machines.filter(({ stage, leaving }) => leaving || stage !== 'node').map(stepOfExtra),
  ];
};
