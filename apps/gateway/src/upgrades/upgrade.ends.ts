import type { StoredEvent } from '@fairlead/contracts';

/** What a caller may wait for: whether an event about the upgrade is that. */
export type IsOver = (event: StoredEvent) => boolean;

const oneOf = (...types: readonly StoredEvent['type'][]): IsOver => {
  const known: ReadonlySet<string> = new Set(types);
  return ({ type }) => known.has(type);
};

/** There is a plan, or there will be none. */
export const isPlanned = oneOf('UpgradePlanned', 'UpgradeRejected', 'RolloutAborted');

/** Nothing goes on by itself any more. */
export const isRolledOut = oneOf('RolloutCompleted', 'RolloutAborted', 'RolloutHalted', 'UpgradeRejected');

export const isPaused = oneOf('RolloutPaused', 'RolloutCompleted', 'RolloutAborted', 'RolloutHalted');

export const isAborted = oneOf('RolloutAborted', 'RolloutCompleted', 'UpgradeRejected');

export const isLeftOut =
  (node: string): IsOver =>
  (event) =>
    (event.type === 'NodeSkipped' && event.data.node === node) ||
    event.type === 'UpgradeCommandRefused' ||
    isAborted(event);

/** The request alone: nothing follows that one could wait for. */
export const isRecorded: IsOver = () => true;
