import type { EventView, UpgradeView } from '../api/api.ports.js';
import { targetText } from '../upgrade/plan.text.js';

/** One change of a cluster, as its events tell it. */
export interface UpgradeStory {
  readonly id: string;
  readonly requestedAt: string;
  readonly actor: string;
  readonly target: UpgradeView['target'];
  /** The sentence of the last event of the whole: planned, started, paused, halted, ended. */
  readonly last: string;
}

const COURSE: ReadonlySet<string> = new Set([
  'UpgradeRejected',
  'UpgradePlanned',
  'RolloutStarted',
  'RolloutPaused',
  'RolloutResumed',
  'RolloutHalted',
  'RolloutAborted',
  'RolloutCompleted',
]);

const begun = ({ data, time, actor, sentence }: EventView): UpgradeStory => ({
  id: String(data['upgradeId']),
  requestedAt: time,
  actor,
  target: data['target'] as UpgradeView['target'],
  last: sentence,
});

/** Upgrades of the present incarnation that were to change something, oldest first. */
export const upgradesIn = (events: readonly EventView[], uid: string | undefined): readonly UpgradeStory[] => {
  const stories = new Map<string, UpgradeStory>();
  for (const event of events.filter(({ data }) => data['uid'] === uid)) {
    const id = String(event.data['upgradeId']);
    const known = stories.get(id);
    if (event.type === 'UpgradeRequested' && event.data['mode'] !== 'dry-run') stories.set(id, begun(event));
    else if (known !== undefined && COURSE.has(event.type)) stories.set(id, { ...known, last: event.sentence });
  }
  return [...stories.values()];
};

/** `2026-11-21T08:00:00.000Z  u-8f3k2m9q to v1.35.4: the roll-out is complete, asked for by user/ada`. */
export const upgradeLine = ({ id, requestedAt, actor, target, last }: UpgradeStory): string =>
  `${requestedAt}  ${id}, ${targetText({ target })}: ${last}, asked for by ${actor}`;
