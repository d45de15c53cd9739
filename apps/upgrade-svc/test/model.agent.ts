import {
  CHANGE_ATTEMPTS_MAX,
  type EventData,
  type Fact,
  type NodeChange,
  type NodeName,
  type SoftwareVersions,
} from '@fairlead/contracts';
import { changeNode, nodesOf, UID, type AgentFailure, type FailingStep, type Model, type ModelNode } from './model.js';

/** The next step of a node's agent with its report; undefined: none. */
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

/** All steps of a change on a node, in order. */
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
      const done = { step: 1, changesDone: [...now.changesDone, change.id], reported: now.software };
      return {
        model: changeNode(model, of, { ready: true, ...done }),
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

/** For each failure, the step before which it happens, and the reported phase. */
const FAILING: Readonly<Record<FailingStep, { readonly before: string; readonly phase: Phase }>> = {
  stage: { before: 'stage', phase: 'stage' },
  kubeadm: { before: 'etcd restarts', phase: 'kubeadm' },
  'kubeadm-half': { before: 'controller manager', phase: 'kubeadm' },
  packages: { before: 'packages', phase: 'kubelet' },
  certificates: { before: 'certificates', phase: 'certificates' },
  boot: { before: 'boot', phase: 'reboot' },
};

type Phase = EventData<'NodeChangeProgressed'>['phase'];

/** `kubeadm upgrade node` changes no static pods on a worker: it fails before the packages there. */
const isFailing = (node: ModelNode, { at }: AgentFailure, step: AgentStep): boolean =>
  FAILING[at].before === step.name || (at === 'kubeadm' && node.components === null && step.name === 'packages');

const progressFailed = (node: ModelNode, id: string, { at, message }: AgentFailure): Fact => ({
  type: 'NodeChangeProgressed',
  data: {
    ...said(node),
    change: id,
    phase: FAILING[at].phase,
    status: 'failed',
    attempt: at === 'stage' ? 1 : node.attempts + 1,
    tookMs: 1_000,
    command: at === 'stage' ? null : `the command of ${at}`,
    message,
  },
});

/**
 * One more failed attempt; after the last one of a revision the agent does nothing, but it retries staging without a
 * limit.
 */
const failStep = (node: ModelNode, id: string, failure: AgentFailure): AgentStep | undefined =>
  node.attempts >= (failure.at === 'stage' ? STAGE_ATTEMPTS : CHANGE_ATTEMPTS_MAX)
    ? undefined
    : {
        name: `${failure.at} fails`,
        seconds: 1,
        act: (model) => {
          const now = model.nodes[node.name]!;
          return {
            model: changeNode(model, node.name, { attempts: now.attempts + 1, software: withKubeadm(now, failure) }),
            facts: [progressFailed(now, id, failure)],
          };
        },
      };

/** kubeadm itself is installed before it runs. */
const withKubeadm = ({ software, desired }: ModelNode, { at }: AgentFailure): SoftwareVersions => {
  const { kubeadm } = desired.software;
  return kubeadm === undefined || at === 'stage' ? software : { ...software, kubeadm };
};

/** The model limits the attempts; they only have to last longer than a change. */
const STAGE_ATTEMPTS = 5;

/** No change is requested: the agent reports its software, and that it is Ready if it has the desired one. */
const restStep = (node: ModelNode): AgentStep | undefined => {
  const { name } = node;
  if (JSON.stringify(node.reported) !== JSON.stringify(node.software))
    return {
      name: 'VersionChanged',
      seconds: 0.2,
      act: (model) => {
        const now = model.nodes[name]!;
        const data = { uid: UID, node: name, before: now.reported, after: now.software };
        return {
          model: changeNode(model, name, { reported: now.software }),
          facts: [{ type: 'VersionChanged', data }],
        };
      },
    };
  const isDesired = Object.entries(node.desired.software).every(([what, version]) => node.software[what] === version);
  return node.ready || !isDesired ? undefined : sayReady(node);
};

export const agentStep = (model: Model, name: string): AgentStep | undefined => {
  const node = model.nodes[name];
  if (node === undefined) return undefined;
  const failure = model.fails[name];
  const stage = stageStep(node);
  if (stage !== undefined)
    return failure?.at === 'stage' ? failStep(node, node.desired.stage?.id ?? '', failure) : stage;
  const { change, allowed } = node.desired;
  if (change === null || !allowed) return restStep(node);
  if (!node.changesDone.includes(change.id)) {
    const step = changeSteps(node, change)[node.step];
    return step !== undefined && failure !== undefined && isFailing(node, failure, step)
      ? failStep(node, change.id, failure)
      : step;
  }
  // Already done under an earlier revision: it only reports that again.
  return node.step === 0 ? sayReady(node) : undefined;
};

const sayReady = (node: ModelNode): AgentStep => ({
  name: 'Ready',
  seconds: 1,
  act: (model) => {
    const now = model.nodes[node.name]!;
    return {
      model: changeNode(model, node.name, { ready: true, step: 1, reported: now.software }),
      facts: [{ type: 'NodeReady', data: { ...said(now), software: now.software } }],
    };
  },
});
