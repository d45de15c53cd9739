import type { NodeChange, NodeName, PlanOperation, SoftwareVersions } from '@fairlead/contracts';
import { predictedSecondsOf } from './durations.js';
import { fromOf, poolOf, type PlanInput, type PlannedNode } from './plan.request.js';

/** The parts of an operation that do not derive from its position in the plan. */
export interface Draft {
  readonly kind: PlanOperation['kind'];
  readonly node: PlannedNode | null;
  readonly nodes?: readonly NodeName[];
  readonly pool?: string;
  readonly canary?: boolean;
  readonly to: SoftwareVersions;
  readonly change?: Omit<NodeChange, 'id'> | null;
  readonly drain?: boolean;
  readonly reason: string;
}

export const NO_CHANGE: Omit<NodeChange, 'id'> = {
  kubeadm: null,
  kubernetes: null,
  renewCertificates: false,
  reboot: false,
  balancedEndpoint: null,
  stopApiServerFirst: false,
  emulatedVersion: null,
};

/** The plan under construction, batch by batch. Numbers are assigned only here. */
export interface Growing {
  readonly operations: readonly PlanOperation[];
  readonly batches: number;
}

export const EMPTY_PLAN: Growing = { operations: [], batches: 0 };

const number = (index: number): string => String(index).padStart(2, '0');

const operationOf = (input: PlanInput, draft: Draft, index: number, batch: number): PlanOperation => {
  const { kind, node, to, reason, canary = false, drain = false } = draft;
  const id = `op-${number(index)}`;
  const change =
    draft.change === null || draft.change === undefined
      ? null
      : { id: `${input.request.upgradeId}/${id}`, ...draft.change };
  const operation = {
    id,
    kind,
    node: node?.facts.name ?? null,
    nodes: [...(draft.nodes ?? (node === null ? [] : [node.facts.name]))],
    role: node?.facts.role ?? null,
    pool: node === null ? (draft.pool ?? null) : poolOf(node.facts),
    batch,
    canary,
    from: node === null ? {} : fromOf(node, to),
    to: { ...to },
    change,
    drain,
    reason,
  };
  return { ...operation, predictedSeconds: predictedSecondsOf(operation, input.durations) };
};

/** Adds a batch, which begins when everything before it has ended. Ignores an empty one. */
export const withBatch = (input: PlanInput, plan: Growing, drafts: readonly Draft[]): Growing => {
  if (drafts.length === 0) return plan;
  const added = drafts.map((draft, index) =>
    operationOf(input, draft, plan.operations.length + index + 1, plan.batches),
  );
  return { operations: [...plan.operations, ...added], batches: plan.batches + 1 };
};

export const withBatches = (input: PlanInput, plan: Growing, batches: readonly (readonly Draft[])[]): Growing =>
  batches.reduce((before, drafts) => withBatch(input, before, drafts), plan);
