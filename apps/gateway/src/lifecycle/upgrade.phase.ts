import {
  refuse,
  type EventData,
  type Refusal,
  type StoredEvent,
  type UpgradeId,
  type UpgradePhase,
  type UPGRADE_MODES,
} from '@fairlead/contracts';

export type UpgradeMode = (typeof UPGRADE_MODES)[number];

/** Which upgrade, and how far it is. */
export interface PhasedUpgrade {
  readonly id: UpgradeId;
  readonly mode: UpgradeMode;
  readonly phase: UpgradePhase;
  /** It has begun to change the cluster, or may have. */
  readonly started: boolean;
  /** Why no further node begins; null: it does. */
  readonly pause: Pause | null;
  /** Of its plan; undefined: it has none. */
  readonly planHash?: string | undefined;
}

export type PausedBy = EventData<'RolloutPaused'>['by'];

export interface Pause {
  readonly by: PausedBy;
  readonly reason: string;
}

export const pauseSentence = ({ reason, by }: Pause): string => `${reason === '' ? 'no reason given' : reason} (${by})`;

/** A pause of the world ends with its cause; one of a person or a probe when someone says so. */
export const endsByItself = (by: PausedBy): boolean => by === 'window' || by === 'gate';

const running = (phase: UpgradePhase, next: UpgradePhase): UpgradePhase => (phase === 'Aborting' ? phase : next);

/** The phase of an upgrade after an event about it. Nothing but its end takes one out of Aborting. */
export const upgradePhaseAfter = (
  { phase, started }: Pick<PhasedUpgrade, 'phase' | 'started'>,
  event: StoredEvent,
): UpgradePhase => {
  switch (event.type) {
    case 'UpgradeRejected':
      return 'Rejected';
    case 'UpgradeWaiting':
      return running(phase, 'Waiting');
    case 'UpgradePlanned':
      return running(phase, 'Planned');
    case 'UpgradeApproved':
      return running(phase, 'Approved');
    case 'RolloutStarted':
      return running(phase, 'Running');
    case 'RolloutResumed': // One that hooks hold may be paused before its start.
      return running(phase, started ? 'Running' : 'Approved');
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

/** Whether it may still change the cluster. */
export const isOpen = ({ mode, phase }: Pick<PhasedUpgrade, 'mode' | 'phase'>): boolean =>
  !OVER.has(phase) && !(mode === 'dry-run' && phase === 'Planned');

/** Whether nothing else begins beside it (B1). One that waits for the cluster must not keep anyone from repairing that. */
export const blocksOthers = (upgrade: Pick<PhasedUpgrade, 'mode' | 'phase'>): boolean =>
  isOpen(upgrade) && upgrade.phase !== 'Waiting';

/** The latest upgrade of a cluster after an event. */
export const latestUpgradeAfter = (
  before: PhasedUpgrade | undefined,
  event: StoredEvent,
): PhasedUpgrade | undefined => {
  if (event.type === 'UpgradeRequested')
    return { id: event.data.upgradeId, mode: event.data.mode, phase: 'Planning', started: false, pause: null };
  if (before === undefined || !('upgradeId' in event.data) || event.data.upgradeId !== before.id) return before;
  const phase = upgradePhaseAfter(before, event);
  if (event.type === 'UpgradePlanned') return { ...before, phase, planHash: event.data.planHash };
  if (event.type === 'RolloutStarted') return { ...before, phase, started: true, pause: null };
  if (event.type === 'RolloutPaused')
    return { ...before, phase, pause: { by: event.data.by, reason: event.data.reason } };
  if (phase === before.phase) return before;
  return { ...before, phase, pause: phase === 'Paused' ? before.pause : null };
};

/** How a plan that waits for an approval is approved. */
export const approval = (cluster: string, planHash: string | undefined): string =>
  `fairlead upgrade approve ${cluster}${planHash === undefined ? '' : ` --plan ${planHash}`}`;

/** By an abort. */
const ENDABLE: ReadonlySet<PhasedUpgrade['phase']> = new Set([
  'Planning',
  'Planned',
  'Approved',
  'Running',
  'Paused',
  'Halted',
]);

/** How it continues, or can be ended, for those who wait for its end. One that is being aborted needs no second abort. */
export const wayOn = (upgrade: Pick<PhasedUpgrade, 'phase' | 'pause' | 'planHash'>, cluster: string): string =>
  ENDABLE.has(upgrade.phase)
    ? `${wayForward(upgrade, cluster)}, or end it (fairlead upgrade abort ${cluster})`
    : wayForward(upgrade, cluster);

const wayForward = (
  { phase, pause, planHash }: Pick<PhasedUpgrade, 'phase' | 'pause' | 'planHash'>,
  cluster: string,
): string => {
  switch (phase) {
    case 'Waiting':
      return `It goes on by itself once its findings hold no longer (fairlead upgrade status ${cluster}); declare another version, or end it (fairlead upgrade abort ${cluster})`;
    case 'Planned':
      return `Its plan waits for an approval: read it (fairlead upgrade status ${cluster}) and approve it (${approval(cluster, planHash)})`;
    case 'Halted':
      return `Fix the cause and retry it (fairlead upgrade retry ${cluster})`;
    case 'Paused':
      return pause === null || endsByItself(pause.by)
        ? 'It resumes by itself: wait for its end'
        : `Resume it (fairlead upgrade resume ${cluster})`;
    case 'Rejected':
    case 'Aborted':
    case 'Completed':
      return `Start another (fairlead upgrade start ${cluster} --to <version>)`;
    case 'Planning':
    case 'Approved':
    case 'Running':
    case 'Aborting':
      return 'Wait for its end';
  }
};

/** Nothing else begins while it is open (B1), however long that lasts: the refusal says what it is, and how to end it. */
export const refuseBeside = (
  upgrade: PhasedUpgrade,
  { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
  action: string,
): Refusal => {
  const { id, phase, pause } = upgrade;
  const state = pause === null ? phase : `${phase}: ${pauseSentence(pause)}`;
  return refuse('upgrade.open', { namespace, cluster, upgrade: id, action, state, wayOn: wayOn(upgrade, cluster) });
};
