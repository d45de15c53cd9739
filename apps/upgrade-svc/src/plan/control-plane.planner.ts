import {
  type KubernetesVersion,
  minorOf,
  type NodeChange,
  type NodeName,
  type SoftwareVersions,
} from '@fairlead/contracts';
import { ownRows } from '@fairlead/domain';
import {
  c2MayDrain,
  c3StopApiServerFirst,
  c4KubeadmCommand,
  c6KubeletGoesAlong,
} from '../rules/control-plane.rules.js';
import { NO_CHANGE, type Draft } from './plan.builder.js';
import { CONTROL_PLANE_POOL, softwareTo, type PlanInput, type PlannedNode } from './plan.request.js';
import { replacementDraft } from './replacement.planner.js';

/**
 * One step of the path for control planes. `to` null: Kubernetes is unchanged, only other software, certificates or
 * boots.
 */
export interface Step {
  readonly from: KubernetesVersion;
  readonly to: KubernetesVersion | null;
  /** Other packages, certificates and boots are part of the last step, so that each node is drained for them once. */
  readonly last: boolean;
}

/** Non-leaders by name, the etcd leader last. */
export const inOrder = (nodes: readonly PlannedNode[], leader: NodeName | null): readonly PlannedNode[] => [
  ...nodes.filter(({ facts }) => facts.name !== leader),
  ...nodes.filter(({ facts }) => facts.name === leader),
];

const othersOf = (input: PlanInput, step: Step): SoftwareVersions =>
  step.last ? (input.request.target.software ?? {}) : {};

const needsChange = (input: PlanInput, node: PlannedNode, step: Step): boolean => {
  const { renewCertificates, reboot } = input.request.target;
  return (
    Object.keys(softwareTo(node, step.to, othersOf(input, step))).length > 0 ||
    (step.to !== null && node.components !== step.to) ||
    (step.last && (renewCertificates || reboot))
  );
};

const isOfOtherVersion = (node: PlannedNode, to: Step['to']): boolean =>
  node.components !== to || Object.keys(softwareTo(node, to, {})).length > 0;

const PACKAGES_OF_THE_KUBELET: readonly string[] = ['kubelet', 'kubectl'];

const only = (software: SoftwareVersions, names: readonly string[]): SoftwareVersions =>
  Object.fromEntries(Object.entries(software).filter(([name]) => names.includes(name)));
const without = (software: SoftwareVersions, names: readonly string[]): SoftwareVersions =>
  Object.fromEntries(Object.entries(software).filter(([name]) => !names.includes(name)));

interface Pass {
  readonly step: Step;
  readonly leader: NodeName | null;
  /** components: the static pods; kubelet: the rest of the node (C6); commit: that, and the version itself (G5). */
  readonly what: 'all' | 'components' | 'kubelet' | 'commit';
  readonly emulatedVersion: string | null;
}

const reasonOf = (node: PlannedNode, index: number, { leader, what, step }: Pass): string => {
  const place =
    node.facts.name === leader
      ? 'it leads etcd, so it goes last'
      : index === 0
        ? 'it does not lead etcd, and goes first'
        : 'it does not lead etcd';
  if (what === 'commit') return `every API server runs the new binaries, so the emulation can end (G5)`;
  if (what === 'kubelet') return `every API server runs ${String(step.to)}, so the kubelet can be upgraded (C6)`;
  return place;
};

const packagesOf = ({ what }: Pass, all: SoftwareVersions): SoftwareVersions => {
  if (what === 'all') return all;
  return what === 'components' ? without(all, PACKAGES_OF_THE_KUBELET) : only(all, PACKAGES_OF_THE_KUBELET);
};

/** kubeadm checks that B12 covers: whoever overrides it has checked the Corefile. */
const COREFILE_CHECKS = ['CoreDNSUnsupportedPlugins', 'CoreDNSMigration'];

/** kubeadm checks that are only warnings, because their rules were overridden. */
const ignoredChecks = ({ facts, request }: PlanInput): Pick<NodeChange, 'ignoredPreflightErrors'> => {
  const corefile = request.overridden.includes('B12') ? COREFILE_CHECKS : [];
  const refused = request.overridden.includes('B13') ? (facts.dryRun?.refusal?.checks ?? []) : [];
  const ignored = [...new Set([...corefile, ...refused])];
  return ignored.length === 0 ? {} : { ignoredPreflightErrors: ignored };
};

const draftOf = (input: PlanInput, node: PlannedNode, index: number, pass: Pass): Draft => {
  const { step, what, emulatedVersion } = pass;
  const { renewCertificates, reboot } = input.request.target;
  const all = softwareTo(node, step.to, othersOf(input, step));
  const to = packagesOf(pass, all);
  const kubeadm = step.to !== null && what !== 'kubelet' ? c4KubeadmCommand(index > 0) : null;
  const ends = step.last && what !== 'components';
  const bare = kubeadm === null && Object.keys(to).length === 0 && !reboot;
  return {
    kind: 'control-plane',
    node,
    to,
    drain: !bare && c2MayDrain(input.facts, node.facts.name),
    change: {
      ...NO_CHANGE,
      kubeadm,
      kubernetes: kubeadm === null ? null : step.to,
      renewCertificates: ends && renewCertificates,
      reboot: ends && reboot,
      balancedEndpoint: kubeadm === null ? null : input.endpoint,
      stopApiServerFirst: kubeadm !== null && c3StopApiServerFirst(step.from, step.to ?? step.from, ownRows(input.own)),
      emulatedVersion,
      ...(kubeadm === 'apply' ? ignoredChecks(input) : {}),
    },
    reason: reasonOf(node, index, pass),
  };
};

const passes = (input: PlanInput, step: Step, leader: NodeName | null): readonly Pass[] => {
  const pass = (what: Pass['what'], emulatedVersion: string | null = null): Pass => ({
    step,
    leader,
    what,
    emulatedVersion,
  });
  if (step.to === null) return [pass('all')];
  // G5: first only the binaries; then the version itself, and with it the kubelets.
  if (step.last && input.request.strategy.twoStep) return [pass('components', minorOf(step.from)), pass('commit')];
  return c6KubeletGoesAlong(input.facts) ? [pass('all')] : [pass('components'), pass('kubelet')];
};

/** The batches of one step on the control planes: strictly one node at a time. */
export const controlPlaneBatches = (
  input: PlanInput,
  nodes: readonly PlannedNode[],
  step: Step,
  leader: NodeName | null,
): readonly (readonly Draft[])[] => {
  const changing = inOrder(
    nodes.filter((node) => needsChange(input, node, step)),
    leader,
  );
  const replacement =
    step.to === null
      ? undefined
      : replacementDraft(
          input,
          changing.filter((node) => isOfOtherVersion(node, step.to)),
          { pool: CONTROL_PLANE_POOL, to: step.to, others: othersOf(input, step) },
        );
  if (replacement !== undefined) return [[replacement]];
  return passes(input, step, leader).flatMap((pass) =>
    changing.map((node, index) => [draftOf(input, node, index, pass)]),
  );
};

/** The node after the step, as input for later steps. */
export const afterStep = (input: PlanInput, node: PlannedNode, step: Step): PlannedNode => ({
  ...node,
  software: { ...node.software, ...softwareTo(node, step.to, othersOf(input, step)) },
  components: step.to ?? node.components,
});
