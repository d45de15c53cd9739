import type { ClusterUid, Fact, Finding, UpgradeId, UpgradePlan } from '@fairlead/contracts';
import type { Command } from '@fairlead/event-sourcing';

/** All facts of the rollout decider. */
export type RolloutFact = Fact<
  | 'UpgradeRejected'
  | 'UpgradeWaiting'
  | 'UpgradePlanned'
  | 'RolloutStarted'
  | 'OperationStarted'
  | 'OperationPostponed'
  | 'OperationCompleted'
  | 'OperationFailed'
  | 'UpgradeAllowed'
  | 'UpgradeWithdrawn'
  | 'NodeSkipped'
  | 'NodeQuarantined'
  | 'SurgeRequested'
  | 'SurgeReleased'
  | 'SurgeSkipped'
  | 'RolloutPaused'
  | 'RolloutResumed'
  | 'RolloutHalted'
  | 'RolloutAborted'
  | 'RolloutCompleted'
  | 'UpgradeCommandRefused'
  | 'UpgradeStepFailed'
  | 'UpgradeStepRecovered'
  | EffectFact['type']
>;

/** Facts reported by effects, recorded once and unchanged. */
export type EffectFact = Fact<
  | 'EtcdSnapshotTaken'
  | 'NodesMarked'
  | 'NodesUnmarked'
  | 'AddonsUpgraded'
  | 'PoolReplacementRequested'
  | 'EtcdLeaderMoved'
  | 'NodeCordoned'
  | 'EvictionRefused'
  | 'NodeEmptied'
  | 'DrainTimedOut'
  | 'GatePassed'
  | 'GateFailed'
  | 'NodeUncordoned'
  | 'UpgradeWithdrawn'
  | 'UpgradeHookBlocked'
  | 'UpgradeHookSucceeded'
  | 'UpgradeHookFailed'
>;

/** The result of CheckUpgrade. `planHash`: SHA-256 (hex) of `canonical(plan)`. */
export type RecordCheck = Command<
  'RecordCheck',
  { readonly uid: ClusterUid; readonly upgradeId: UpgradeId; readonly now: string } & (
    | { readonly outcome: 'rejected'; readonly findings: readonly Finding[] }
    | { readonly outcome: 'planned'; readonly plan: UpgradePlan; readonly planHash: string }
  )
>;

/** The result of a task or of a part of it; facts that follow from it at `now` (RFC 3339) are added. */
export type RecordFact = Command<'RecordFact', { readonly facts: readonly EffectFact[]; readonly now: string }>;

export type RolloutCommand = RecordCheck | RecordFact;
