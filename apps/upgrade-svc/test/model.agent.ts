import type { Fact, NodeChange, NodeName } from '@fairlead/contracts';
import { changeNode, type Model, type ModelNode, nodesOf, UID } from './model.js';

/** What the agent of a node does next, and what it says then; undefined: nothing. */
export interface AgentStep {
  readonly name: string;
  readonly seconds: number;
  readonly act: (model: Model) => { readonly model: Model; readonly facts: readonly Fact[] };
}

const said = (node: ModelNode) => ({ uid: UID, node: node.name, revision: node.desired.revision });

const quiet = (
  name: string,
  seconds: number,
  change: (node: ModelNode, model: Model) => Partial<ModelNode>,
  of: NodeName,
): AgentStep => ({
  name,
  seconds,
  act: (model) => {
    const node = model.nodes[of]!;
    return { model: changeNode(model, of, { ...change(node, model), step: node.step + 1 }), facts: [] };
  },
});

const withHarm = (step: AgentStep, harmOf: (model: Model) => string | undefined): AgentStep => ({
  ...step,
  act: (model) => {
    const harm = harmOf(model);
    const acted = step.act(model);
    return harm === undefined ? acted : { ...acted, model: { ...acted.model, harm: [...acted.model.harm, harm] } };
  },
});

const kubeadmSteps = (node: ModelNode, change: NodeChange): readonly AgentStep[] => {
  const version = change.kubernetes?.slice(1);
  if (node.components === null || version === undefined || change.kubeadm === null) return [];
  const of = node.name;
  const parts = (name: string, seconds: number, part: Partial<NonNullable<ModelNode['components']>>) =>
    quiet(name, seconds, (one) => ({ memberHealthy: true, components: { ...one.components!, ...part } }), of);
  const down = quiet('etcd restarts', 8, () => ({ memberHealthy: false }), of);
  return [
    withHarm(down, (model) =>
      model.leader === of && othersAlive(model, of) ? `${of} was touched while it led etcd` : undefined,
    ),
    {
      ...parts('API server', 40, { api: version, emulates: change.emulatedVersion }),
      act: (model) => {
        const acted = parts('API server', 40, { api: version, emulates: change.emulatedVersion }).act(model);
        const what = change.emulatedVersion === null ? version : `${version} as ${change.emulatedVersion}`;
        const applied: Model['applied'] =
          change.kubeadm === 'apply' ? [...acted.model.applied, [what, of] as const] : acted.model.applied;
        return { ...acted, model: { ...acted.model, applied } };
      },
    },
    parts('controller manager', 15, { controllers: version }),
    parts('scheduler', 13, { scheduler: version }),
  ];
};

const othersAlive = (model: Model, of: NodeName): boolean =>
  nodesOf(model).some(({ name, role }) => role === 'control-plane' && name !== of);

/** The whole change on a node, in order. */
const changeSteps = (node: ModelNode, change: NodeChange): readonly AgentStep[] => {
  const of = node.name;
  const { software } = node.desired;
  const notReady: AgentStep = {
    name: 'announce',
    seconds: 0.5,
    act: (model) => ({
      model: changeNode(model, of, { ready: false, step: model.nodes[of]!.step + 1 }),
      facts: [
        {
          type: 'NodeNotReady',
          data: { ...said(model.nodes[of]!), reason: 'SoftwareChange', message: 'software changes' },
        },
      ],
    }),
  };
  const ready: AgentStep = {
    name: 'Ready',
    seconds: 3,
    act: (model) => {
      const now = model.nodes[of]!;
      return {
        model: changeNode(model, of, { ready: true, step: 1, changesDone: [...now.changesDone, change.id] }),
        facts: [{ type: 'NodeReady', data: { ...said(now), software: now.software } }],
      };
    },
  };
  return [
    notReady,
    ...kubeadmSteps(node, change),
    quiet('packages', 6, () => ({ software }), of),
    ...(change.renewCertificates ? [quiet('certificates', 40, (one) => ({ renewals: one.renewals + 1 }), of)] : []),
    ...(change.reboot ? [quiet('boot', 25, (one) => ({ boots: one.boots + 1 }), of)] : []),
    ready,
  ];
};

const stageStep = (node: ModelNode): AgentStep | undefined => {
  const { stage } = node.desired;
  if (stage === null || node.stagesDone.includes(stage.id)) return undefined;
  return {
    name: 'stage',
    seconds: 12,
    act: (model) => {
      const now = model.nodes[node.name]!;
      return {
        model: changeNode(model, node.name, { stagesDone: [...now.stagesDone, stage.id] }),
        facts: [
          {
            type: 'NodeChangeProgressed',
            data: {
              ...said(now),
              change: stage.id,
              phase: 'stage',
              status: 'done',
              attempt: 1,
              tookMs: 12_000,
              command: null,
              message: null,
            },
          },
        ],
      };
    },
  };
};

export const agentStep = (model: Model, name: string): AgentStep | undefined => {
  const node = model.nodes[name];
  if (node === undefined) return undefined;
  const stage = stageStep(node);
  if (stage !== undefined) return stage;
  const { change, allowed } = node.desired;
  if (change === null || !allowed) return undefined;
  if (!node.changesDone.includes(change.id)) return changeSteps(node, change)[node.step];
  // Done before, under an earlier revision: it only says so again.
  return node.step === 0 ? sayReady(node) : undefined;
};

const sayReady = (node: ModelNode): AgentStep => ({
  name: 'Ready',
  seconds: 1,
  act: (model) => {
    const now = model.nodes[node.name]!;
    return {
      model: changeNode(model, node.name, { ready: true, step: 1 }),
      facts: [{ type: 'NodeReady', data: { ...said(now), software: now.software } }],
    };
  },
});
