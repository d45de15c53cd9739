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
  /** Worker pools to upgrade; null: all. */
  readonly pools: readonly string[] | null;
  readonly controlPlane: boolean;
  readonly strategy: UpgradeStrategy;
  /** Rules overridden by an operator. */
  readonly overridden: readonly string[];
}

/** How many nodes of a pool may be extra and unavailable while they are replaced. */
export interface ReplacementLimits {
  readonly surge: number;
  readonly unavailable: number;
}

/** The complete input of a plan. The same input results in the same plan, byte for byte. */
export interface PlanInput {
  readonly request: RolloutRequest;
  readonly facts: ClusterFacts;
  readonly holds: Holds;
  /** Pools, and the control plane, whose nodes are replaced for another version; absent: none. */
  readonly replaced?: Readonly<Record<string, ReplacementLimits>>;
  /** As in the manifest; absent: the manifest has none. */
  readonly addons?: readonly AddonStanding[];
  readonly underWay: UnderWay;
  /** That of the cluster's addons; absent: it is that of the API servers. */
  readonly version?: string;
  /** The https://host:port that serves every API server; null: there is a single API server. */
  readonly endpoint: string | null;
  /** Releases added by the installation, in addition to the built-in ones. */
  readonly own: OwnReleases;
  /** Measured durations of this cluster's operations; otherwise the defaults of the catalogue. */
  readonly durations: Durations;
}

/** A node and its versions at one point of the plan. */
export interface PlannedNode {
  readonly facts: NodeFacts;
  readonly software: SoftwareVersions;
  /** Version of the control plane's static pods, with v; null: a worker. */
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

/** Nodes of this role to upgrade, sorted by name. */
export const participants = (input: PlanInput, role: NodeRole): readonly PlannedNode[] =>
  input.facts.nodes
    .filter((node) => node.role === role && takesPart(input, node))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(plannedNode);

const KUBERNETES_PACKAGES = ['kubeadm', 'kubelet', 'kubectl'] as const;

export const isOfKubernetes = (name: string): boolean => KUBERNETES_PACKAGES.some((one) => one === name);

/** The software of the node that changes to reach this Kubernetes version and the requested packages. */
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
