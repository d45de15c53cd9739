import type { ClusterUid, Fact, Finding, UpgradeId, UpgradePlan } from '@fairlead/contracts';
import type { Command } from '@fairlead/event-sourcing';

/** Everything that the decider of a rollout states. */
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
  | EffectFact['type']
>;

/** What effects saw or made; stated as they say it, once. */
export type EffectFact = Fact<
  | 'EtcdSnapshotTaken'
  | 'NodesMarked'
  | 'NodesUnmarked'
  | 'AddonsUpgraded'
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

/** What came of CheckUpgrade. `planHash`: SHA-256 (hex) of `canonical(plan)`. */
export type RecordCheck = Command<
  'RecordCheck',
  { readonly uid: ClusterUid; readonly upgradeId: UpgradeId; readonly now: string } & (
    | { readonly outcome: 'rejected'; readonly findings: readonly Finding[] }
    | { readonly outcome: 'planned'; readonly plan: UpgradePlan; readonly planHash: string }
  )
>;

/** What came of a task, or a part of it; and at once what follows from it at `now` (RFC 3339). */
export type RecordFact = Command<'RecordFact', { readonly facts: readonly EffectFact[]; readonly now: string }>;

export type RolloutCommand = RecordCheck | RecordFact;
