import type { Cause, ClusterUid, Fact, Finding, UpgradeId, UpgradePlan } from '@fairlead/contracts';
import type { Command } from '@fairlead/event-sourcing';
import type { RolloutJob } from './rollout.jobs.js';

/** Everything that the decider of a roll-out states. */
export type RolloutFact = Fact<
  | 'UpgradeRejected'
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
  | 'SurgeReturned'
  | 'SurgeForgone'
  | 'RolloutPaused'
  | 'RolloutResumed'
  | 'RolloutHalted'
  | 'RolloutAborted'
  | 'RolloutCompleted'
  | 'UpgradeWishRefused'
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
>;

/** May this job begin now? Refused (`upgrade.not-wanted`) when it is done, not due yet, or no longer wanted. */
export type BeginJob = Command<'BeginJob', RolloutJob>;

/** What came of CheckUpgrade. `planHash`: SHA-256 (hex) of `canonical(plan)`. */
export type RecordCheck = Command<
  'RecordCheck',
  { readonly uid: ClusterUid; readonly upgradeId: UpgradeId; readonly now: string } & (
    | { readonly outcome: 'rejected'; readonly findings: readonly Finding[] }
    | { readonly outcome: 'planned'; readonly plan: UpgradePlan; readonly planHash: string }
  )
>;

/** What came of a job, or a part of it; and at once what follows from it at `now` (RFC 3339). */
export type RecordFact = Command<'RecordFact', { readonly facts: readonly EffectFact[]; readonly now: string }>;

/** An attempt of a job has failed. nextAttemptAt null: it was the last one. */
export type RecordFailure = Command<
  'RecordFailure',
  {
    readonly job: RolloutJob;
    readonly cause: Cause;
    readonly attempt: number;
    readonly attemptsMax: number;
    readonly nextAttemptAt: string | null;
    readonly now: string;
  }
>;

/** States everything that follows from what is known at `now` (RFC 3339): what begins, is done, pauses, stops. */
export type Advance = Command<'Advance', { readonly uid: ClusterUid; readonly now: string }>;

export type RolloutCommand = BeginJob | RecordCheck | RecordFact | RecordFailure | Advance;
