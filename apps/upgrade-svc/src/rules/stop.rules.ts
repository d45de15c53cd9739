import { shareOf, type NodeShare } from '@fairlead/contracts';

/** Above this share of nodes that look dead, Fairlead's own view is more likely wrong than the nodes are. */
export const MELTDOWN_SHARE = 0.4;
/** Two of three nodes can fail; with so few nodes a share is meaningless. */
export const MELTDOWN_NODES_MIN = 5;

/** E1: an implausible number looks dead, so nothing acts on it and no operation starts. */
export const e1Meltdown = (nodes: number, dead: number): boolean =>
  nodes >= MELTDOWN_NODES_MIN && dead > nodes * MELTDOWN_SHARE;

/** E2: so many nodes failed in a row that the next one is likely to fail. */
export const e2FailuresInARow = (failures: number, max: number): boolean => failures >= max;

/** E3: the share of failed nodes in a pool exceeds its limit. */
export const e3FailedShare = (failed: number, nodes: number, max: NodeShare): boolean =>
  failed > 0 && failed > shareOf(max, nodes);

/** E4: more nodes could not be drained than may be skipped. */
export const e4BlockedNodes = (blocked: number, max: number): boolean => blocked > max;

/** How long a node that is not being changed may be not Ready before the rollout stops. */
export const REGRESSION_MS = 5 * 60_000;
/** One lost node may be down; with more, Fairlead or the network is the likely cause. */
const LOST_MAX = 1;

/**
 * E5: nodes that were healthy at the start of the plan and are not being changed have been unhealthy for five minutes;
 * or several are silent.
 */
export const e5HealthRegressed = (
  unready: readonly { readonly since: string; readonly lost: boolean }[],
  now: string,
): boolean =>
  unready.some(({ since }) => Date.parse(now) - Date.parse(since) >= REGRESSION_MS) ||
  unready.filter(({ lost }) => lost).length > LOST_MAX;

/** E6: without an API server the state is unknown, so nothing is done: its gate is the first one before each node. */
export const e6Freeze = (gate: string): boolean => gate === 'api-answers';

/** E7: the failure of a control plane, or of a cluster-wide operation, blocks everything after it. */
export const e7EndsTheWay = (kind: string): boolean => kind !== 'worker';
