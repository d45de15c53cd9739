import type {
  NodeRole,
  PoolStrategy,
  SoftwareVersions,
  UpgradeId,
  UpgradeStrategy,
  UpgradeTarget,
} from '@fairlead/contracts';
import type { OwnReleases } from '@fairlead/domain';
import { heldBecause, type Holds } from '../holds/holds.js';
import type { ClusterFacts, NodeFacts } from '../rules/cluster.facts.js';
import type { AddonStanding } from '../rules/addon.standings.js';
import type { UnderWay } from '../rules/preflight.rules.js';
import type { Durations } from './durations.js';

export interface RolloutRequest {
  readonly upgradeId: UpgradeId;
  readonly target: UpgradeTarget;
  /** Worker pools that take part; null: all. */
  readonly pools: readonly string[] | null;
  readonly controlPlane: boolean;
  readonly strategy: UpgradeStrategy;
  /** Rules that an operator overrode. */
  readonly overridden: readonly string[];
}

/** All that a plan is made of. The same input gives the same plan, to the byte. */
export interface PlanInput {
  readonly request: RolloutRequest;
  readonly facts: ClusterFacts;
  readonly holds: Holds;
  /** Of the manifest; absent: it has none. */
  readonly addons?: readonly AddonStanding[];
  readonly underWay: UnderWay;
  /** https://host:port at which every API server is reached; null: there is one only. */
  readonly endpoint: string | null;
  /** Those of the installation beside the built-in ones. */
  readonly own: OwnReleases;
  /** What this cluster's own operations took; the catalogue's numbers otherwise. */
  readonly durations: Durations;
}

/** A node on its way through a plan. */
export interface PlannedNode {
  readonly facts: NodeFacts;
  readonly software: SoftwareVersions;
  /** Of the static pods of a control plane, with v; null: it has none. */
  readonly components: string | null;
}

export const CONTROL_PLANE_POOL = 'control-plane';
export const poolOf = ({ role, pool }: { readonly role: NodeRole; readonly pool: string }): string =>
  role === 'control-plane' ? CONTROL_PLANE_POOL : pool;

export const strategyOf = (strategy: UpgradeStrategy, pool: string): PoolStrategy =>
  strategy.pools[pool] ?? strategy.workers;

export const isHeld = ({ holds }: PlanInput, node: NodeFacts): boolean => heldBecause(holds, node) !== undefined;

const takesPart = (input: PlanInput, node: NodeFacts): boolean => {
  const { pools, controlPlane } = input.request;
  if (isHeld(input, node)) return false;
  return node.role === 'control-plane' ? controlPlane : pools === null || pools.includes(node.pool);
};

const plannedNode = (facts: NodeFacts): PlannedNode => {
  const api = facts.staticPods.find(({ component }) => component === 'kube-apiserver');
  return {
    facts,
    software: { ...facts.software, ...(facts.kubelet === '' ? {} : { kubelet: facts.kubelet }) },
    components: api === undefined || api.version === '' ? null : `v${api.version}`,
  };
};

/** Nodes that take part, by role, in the order of their names. */
export const participants = (input: PlanInput, role: NodeRole): readonly PlannedNode[] =>
  input.facts.nodes
    .filter((node) => node.role === role && takesPart(input, node))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(plannedNode);

const KUBERNETES_PACKAGES = ['kubeadm', 'kubelet', 'kubectl'] as const;

/** What of the node's software changes to reach this version and the packages that were asked for. */
export const softwareTo = (
  { software }: Pick<PlannedNode, 'software'>,
  kubernetes: string | null,
  others: SoftwareVersions,
): SoftwareVersions => {
  const desired: SoftwareVersions = {
    ...(kubernetes === null ? {} : Object.fromEntries(KUBERNETES_PACKAGES.map((name) => [name, kubernetes.slice(1)]))),
    ...others,
  };
  return Object.fromEntries(Object.entries(desired).filter(([name, version]) => software[name] !== version));
};

export const fromOf = ({ software }: PlannedNode, to: SoftwareVersions): SoftwareVersions =>
  Object.fromEntries(Object.keys(to).map((name) => [name, software[name] ?? 'none']));
