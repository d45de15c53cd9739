import { shareOf, type NodeShare } from '@fairlead/contracts';

/** Above this share of nodes that look dead our own view is more likely wrong than the nodes. */
export const MELTDOWN_SHARE = 0.4;
/** Two of three nodes can die; among so few a share says nothing. */
export const MELTDOWN_NODES_MIN = 5;

/** E1: more look dead than is plausible, so nothing acts on it, and nothing begins. */
export const e1Meltdown = (nodes: number, dead: number): boolean =>
  nodes >= MELTDOWN_NODES_MIN && dead > nodes * MELTDOWN_SHARE;

/** E2: so many nodes failed one after the other that the next would, too. */
export const e2FailuresInARow = (failures: number, max: number): boolean => failures >= max;

/** E3: more of a pool has failed than its share. */
export const e3FailedShare = (failed: number, nodes: number, max: NodeShare): boolean =>
  failed > 0 && failed > shareOf(max, nodes);

/** E4: more nodes could not be emptied than may be left behind. */
export const e4BlockedNodes = (blocked: number, max: number): boolean => blocked > max;

/** Time that a node which nothing touches may be unready before the rollout stops. */
export const REGRESSION_MS = 5 * 60_000;
/** Lost contact with one may be that one; with more it is we or the network. */
const LOST_MAX = 1;

/** E5: nodes that were well when the plan began and that nothing touched are not, for five minutes; or several are silent. */
export const e5HealthRegressed = (
  unready: readonly { readonly since: string; readonly lost: boolean }[],
  now: string,
): boolean =>
  unready.some(({ since }) => Date.parse(now) - Date.parse(since) >= REGRESSION_MS) ||
  unready.filter(({ lost }) => lost).length > LOST_MAX;

/** E6: without an API server nothing is known, so nothing is done: its gate comes first of all and is asked before each node. */
export const e6Freeze = (gate: string): boolean => gate === 'api-answers';

/** E7: the failure of a control plane, or of what is done for the whole cluster, ends the way for all that follow. */
export const e7EndsTheWay = (kind: string): boolean => kind !== 'worker';
