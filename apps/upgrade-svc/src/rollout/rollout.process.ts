import type { StoredEvent } from '@fairlead/contracts';
import { cancelTimer, job, timer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { advance, wakeAt } from './advance.planner.js';
import { evolve } from './rollout.evolve.js';
import { keyOf, type RolloutJob } from './rollout.jobs.js';
import { jobs } from './rollout.planner.js';
import { ABSENT, type KnownCluster, type Rollout } from './rollout.state.js';

/** The process's memory of one cluster: what is known, what is wanted, and what the last event asks for. */
export interface Following {
  readonly rollout: Rollout;
  /** Jobs that were asked for, by run and key. */
  readonly wanted: readonly string[];
  /** When something follows although nothing happens; null: never. */
  readonly wakeAt: string | null;
  readonly reactions: readonly Reaction[];
}

const WAKE = 'rollout';

const runKeyOf = (wanted: RolloutJob): string => `${wanted.upgradeId}/${wanted.run}/${keyOf(wanted)}`;

const advanceJob = ({ uid, upgrade }: KnownCluster): Reaction =>
  job('AdvanceRollout', { uid, upgradeId: upgrade?.id, run: upgrade?.run ?? 0, type: 'AdvanceRollout' });

/**
 * Asked for after every event from which something follows, also when it was asked for before: the decision that is on its way
 * may have been taken before this event.
 */
const advanceReactions = (rollout: Rollout, now: string): readonly Reaction[] =>
  rollout.status === 'known' && advance(rollout, now).length > 0 ? [advanceJob(rollout)] : [];

const wakeReactions = (before: string | null, after: string | null): readonly Reaction[] => {
  if (before === after) return [];
  return after === null ? [cancelTimer(WAKE)] : [timer(WAKE, after)];
};

const follow = (before: Following, rollout: KnownCluster, now: string): Following => {
  const wanted = jobs(rollout);
  const known = new Set(before.wanted);
  const fresh = wanted.filter((one) => !known.has(runKeyOf(one)));
  const wake = wakeAt(rollout, now);
  return {
    rollout,
    wanted: wanted.map(runKeyOf),
    wakeAt: wake,
    reactions: [
      ...fresh.map((one) => job(one.type, one)),
      ...advanceReactions(rollout, now),
      ...wakeReactions(before.wakeAt, wake),
    ],
  };
};

/** Every event may make jobs wanted, something to be said, or another moment the next to wake at. */
export const rolloutProcess: Process<Following> = {
  name: 'rollout',
  version: 5,
  initial: { rollout: ABSENT, wanted: [], wakeAt: null, reactions: [] },

  evolve: (before, event: StoredEvent) => {
    const rollout = evolve(before.rollout, event);
    if (rollout === before.rollout && before.reactions.length === 0) return before;
    return rollout.status === 'absent' ? undefined : follow(before, rollout, event.meta.time);
  },

  react: (state, event) => (event.type === 'ClusterDeleted' ? [cancelTimer(WAKE)] : state.reactions),

  due: ({ rollout }) => (rollout.status === 'known' ? [advanceJob(rollout)] : []),
};
