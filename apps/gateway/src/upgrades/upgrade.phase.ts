import type { StoredEvent, UpgradeId, UpgradePhase, UPGRADE_MODES } from '@fairlead/contracts';

export type UpgradeMode = (typeof UPGRADE_MODES)[number];

/** Which upgrade, and how far it is. */
export interface PhasedUpgrade {
  readonly id: UpgradeId;
  readonly mode: UpgradeMode;
  readonly phase: UpgradePhase;
}

const running = (phase: UpgradePhase, next: UpgradePhase): UpgradePhase => (phase === 'Aborting' ? phase : next);

/** The phase of an upgrade after an event about it. Nothing but its end takes one out of Aborting. */
export const upgradePhaseAfter = (phase: UpgradePhase, event: StoredEvent): UpgradePhase => {
  switch (event.type) {
    case 'UpgradeRejected':
      return 'Rejected';
    case 'UpgradePlanned':
      return running(phase, 'Planned');
    case 'UpgradeApproved':
      return running(phase, 'Approved');
    case 'RolloutStarted':
    case 'RolloutResumed':
      return running(phase, 'Running');
    case 'OperationStarted':
      return phase === 'Halted' ? 'Running' : phase;
    case 'RolloutPaused':
      return running(phase, 'Paused');
    case 'RolloutHalted':
      return running(phase, 'Halted');
    case 'UpgradeAbortRequested':
      return 'Aborting';
    case 'RolloutAborted':
      return 'Aborted';
    case 'RolloutCompleted':
      return 'Completed';
    default:
      return phase;
  }
};

const OVER: ReadonlySet<UpgradePhase> = new Set<UpgradePhase>(['Rejected', 'Aborted', 'Completed']);

/** Whether it may still change the cluster: while one may, nothing else begins (B1). */
export const isOpen = ({ mode, phase }: Pick<PhasedUpgrade, 'mode' | 'phase'>): boolean =>
  !OVER.has(phase) && !(mode === 'dry-run' && phase === 'Planned');

/** The latest upgrade of a cluster after an event. */
export const latestUpgradeAfter = (
  before: PhasedUpgrade | undefined,
  event: StoredEvent,
): PhasedUpgrade | undefined => {
  if (event.type === 'UpgradeRequested') return { id: event.data.upgradeId, mode: event.data.mode, phase: 'Planning' };
  if (before === undefined || !('upgradeId' in event.data) || event.data.upgradeId !== before.id) return before;
  const phase = upgradePhaseAfter(before.phase, event);
  return phase === before.phase ? before : { ...before, phase };
};
