import type { ClusterUid, NodeName } from '@fairlead/contracts';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { remediation, type RequestRemediation } from './remediation.decider.js';
import { candidatesOf, factsOf, momentsOf, type Candidate, type RemediationFact } from './remediation.planner.js';
import type { KnownRemediation, Open, Remediation } from './remediation.state.js';
import type { NodeCondition, UnhealthyCondition } from '@fairlead/contracts';

/** Task data: check once more that the node is unhealthy, and request its remediation. */
export interface ConfirmUnhealthy {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly node: NodeName;
  readonly condition: UnhealthyCondition;
  /** Absent unless the condition is NodeCondition. */
  readonly nodeCondition?: NodeCondition;
}

/** Task data: its agent may reboot the node, or no longer may. */
export interface RebootNode {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly node: NodeName;
  readonly requestId: string;
}

const confirming = (uid: ClusterUid, { member, condition, nodeCondition, attempt, action }: Candidate): Task => {
  const named = nodeCondition === undefined ? {} : { nodeCondition };
  const data: ConfirmUnhealthy = { uid, node: member.name, condition, ...named };
  const key = `ConfirmUnhealthy/${member.name}/${action}-${attempt}`;
  return { type: 'ConfirmUnhealthy', key, reason: `${member.name} is unhealthy (${condition})`, data };
};

const rebooting = (uid: ClusterUid, { node, requestId }: Open): Task => {
  const data: RebootNode = { uid, node, requestId };
  return { type: 'RebootNode', key: `RebootNode/${requestId}`, reason: `${node} is unhealthy`, data };
};

const withdrawing = (uid: ClusterUid, node: string, requestId: string): Task => {
  const data: RebootNode = { uid, node: node as NodeName, requestId };
  return { type: 'WithdrawReboot', key: `WithdrawReboot/${requestId}`, reason: 'the reboot is over', data };
};

const tasksOf = (state: KnownRemediation, now: string): readonly Task[] => {
  const { uid, life, open, permitted } = state;
  if (life === 'deleting') return [];
  const reboots = Object.values(open).filter(({ action, power }) => action === 'reboot' && power === undefined);
  return [
    ...candidatesOf(state, now).map((candidate) => confirming(uid, candidate)),
    ...reboots
      .filter(({ node, requestId, awaitedSnapshot }) => awaitedSnapshot === undefined && permitted[node] !== requestId)
      .map((one) => rebooting(uid, one)),
    ...Object.entries(permitted).flatMap(([node, requestId]) =>
      open[requestId] === undefined ? [withdrawing(uid, node, requestId)] : [],
    ),
  ];
};

/** Reboots or replaces unhealthy nodes, within the limits of their health checks. */
export const remediationReconciler: Reconciler<Remediation, RequestRemediation, RemediationFact> = {
  name: 'remediation',
  version: 9,
  context: 'rollout',
  decider: remediation,
  generation: (state) => (state.status === 'absent' ? '' : state.uid),
  tasks: (state, now) => (state.status === 'absent' ? [] : tasksOf(state, now)),
  facts: (state, now) => (state.status === 'absent' ? [] : factsOf(state, now)),

  wakeAt: (state, now) =>
    state.status === 'absent' || state.life === 'deleting'
      ? null
      : (momentsOf(state, now)
          .filter((moment) => moment > now)
          .toSorted()[0] ?? null),

  failed: (state, { type, data }, { cause, nextAttemptAt }) => {
    if (type !== 'RebootNode' || nextAttemptAt !== null || state.status === 'absent') return [];
    const { requestId } = data as RebootNode;
    const open = state.open[requestId];
    if (open === undefined) return [];
    const { node, pool, action } = open;
    return [{ type: 'RemediationFailed', data: { uid: state.uid, requestId, node, pool, action, cause } }];
  },
};
