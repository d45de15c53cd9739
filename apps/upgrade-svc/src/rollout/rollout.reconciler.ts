import { UPGRADE_STEPS } from '@fairlead/contracts';
import type { Reconciler, TaskFailure } from '@fairlead/event-sourcing';
import { finding } from '../rules/finding.js';
import { wakeAt } from './advance.planner.js';
import type { RolloutCommand, RolloutFact } from './rollout.commands.js';
import { rollout, withConsequences } from './rollout.decider.js';
import { tasks } from './rollout.planner.js';
import { stepKeyOf, waitsForChecks, type ClusterState, type Rollout } from './rollout.state.js';
import { keyOf, type AnyRolloutTask, type RolloutTaskType } from './rollout.tasks.js';

const REASONS: Readonly<Record<RolloutTaskType, string>> = {
  CallHook: 'a hook is asked before or after a step',
  CheckUpgrade: 'an upgrade was requested',
  TakeSnapshot: 'a control plane changes only after a snapshot of etcd',
  StageNodes: 'packages and images are staged before their nodes change',
  MarkWorkers: 'pods should avoid workers that are still to change',
  UnmarkWorkers: 'the rollout has ended',
  BeginProbes: 'the strategy names probes',
  EndProbes: 'the rollout has ended',
  UpgradeAddons: 'addons must fit the version of the control planes',
  ReplaceNodes: 'the nodes of the pool are declared to be replaced for another version',
  CheckGates: 'the operation proceeds only when its gates hold',
  EmptyNode: 'a node is drained before it changes',
  ChangeNode: 'the node is ready for its change',
  ReleaseNode: 'the node is done, has failed or is no longer to change',
};

/** A check that failed permanently yields no plan, and its cause is the reason. An upgrade that waits is checked again. */
const checkFailed = ({ uid, upgrade }: ClusterState, { cause, nextAttemptAt }: TaskFailure): readonly RolloutFact[] => {
  if (upgrade === null || nextAttemptAt !== null) return [];
  const { operation, target, message } = cause;
  const words = message === '' ? `${operation} of ${target} failed without a reason` : message;
  const unreachable = finding('E6.unreachable', { operation, target }, { message: words });
  const type = waitsForChecks(upgrade) ? 'UpgradeWaiting' : 'UpgradeRejected';
  return [{ type, data: { uid, upgradeId: upgrade.id, findings: [unreachable] } }];
};

/** Its cause is recorded when it is a new one: the step is tried until it succeeds. */
const stepFailed = (
  { upgrade }: ClusterState,
  task: AnyRolloutTask,
  { cause, attempt, nextAttemptAt }: TaskFailure,
): readonly RolloutFact[] => {
  const step = UPGRADE_STEPS.find((one) => one === task.type);
  if (step === undefined || upgrade?.id !== task.upgradeId) return [];
  const node = task.node ?? null;
  if (upgrade.failingSteps?.[stepKeyOf({ step, node })]?.message === cause.message) return [];
  const { uid, upgradeId } = task;
  return [{ type: 'UpgradeStepFailed', data: { uid, upgradeId, step, node, cause, attempt, nextAttemptAt } }];
};

/** The release of a node is tried on after its operation has failed. */
const RELEASES_MAX = 20;

const operationFailed = (cluster: ClusterState, task: AnyRolloutTask, failure: TaskFailure): readonly RolloutFact[] => {
  const { uid, upgradeId, operation } = task;
  // An operation that is released after a failure has already failed.
  if (operation === undefined || cluster.upgrade?.operations[operation]?.status !== 'open')
    return stepFailed(cluster, task, failure);
  const { now, cause, attempt } = failure;
  const isRelease = task.type === 'ReleaseNode';
  const attemptsMax = isRelease ? Math.min(RELEASES_MAX, failure.attemptsMax) : failure.attemptsMax;
  const nextAttemptAt = attempt < attemptsMax ? failure.nextAttemptAt : null;
  const node = cluster.upgrade.plan?.operations.find(({ id }) => id === operation)?.node ?? null;
  const data = { uid, upgradeId, operation, node, cause, attempt, attemptsMax, nextAttemptAt };
  return withConsequences(cluster, [{ type: 'OperationFailed', data }], now);
};

/** The progress of an upgrade: its tasks, facts that follow without a task, and the effect of a failed attempt. */
export const rolloutReconciler: Reconciler<Rollout, RolloutCommand, RolloutFact> = {
  name: 'rollout',
  version: 18,
  context: 'rollout',
  decider: rollout,

  tasks: (state, now) =>
    tasks(state, now).map((data) => ({ type: data.type, key: keyOf(data), reason: REASONS[data.type], data })),

  generation: (state) =>
    state.status === 'absent' ? '' : [state.uid, state.upgrade?.id, state.upgrade?.run].join('/'),

  facts: (state, now) => withConsequences(state, [], now),

  wakeAt: (state, now) => (state.status === 'absent' ? null : wakeAt(state, now)),

  failed: (state, task, failure) => {
    if (state.status === 'absent') return [];
    const data = task.data as AnyRolloutTask;
    return data.type === 'CheckUpgrade' ? checkFailed(state, failure) : operationFailed(state, data, failure);
  },
};
