import { mayChange, mayRepair, type Observation, type Reported } from './agent.decider.js';

/** The next action of the agent, and its reason. */
export type Step =
  | { readonly do: 'ensure'; readonly reason: string }
  /** Something differs, but may not be changed. */
  | { readonly do: 'wait'; readonly reason: string }
  /** Everything is as desired, or the next attempt is not due. */
  | { readonly do: 'rest'; readonly reason: string };

/** Whether all facts that the agent decided on are in the log. */
export interface Progress {
  readonly announced: boolean;
  /** A failed attempt is not repeated before its backoff has passed. */
  readonly retryDue: boolean;
}

/**
 * ORBITER's two phases: a node that has reported is changed only after its NodeNotReady is in the log, and nothing is
 * ever changed without permission.
 */
export const plan = (reported: Reported, seen: Observation, { announced, retryDue }: Progress): Step => {
  if (seen.differences.length === 0) return { do: 'rest', reason: 'everything is as desired' };
  const differing = [...new Set(seen.differences.map(({ item }) => item))].join(', ');
  if (!mayChange(reported, seen.desired) && mayRepair(reported, seen))
    return retryDue
      ? { do: 'ensure', reason: `repair without a drain (${differing})` }
      : { do: 'rest', reason: `waiting to try again (${differing})` };
  if (!mayChange(reported, seen.desired)) return { do: 'wait', reason: `changes are not allowed (${differing})` };
  if (!retryDue) return { do: 'rest', reason: `waiting to try again (${differing})` };
  switch (reported.standing.status) {
    case 'new':
      return { do: 'ensure', reason: `first preparation (${differing})` };
    case 'changing':
      if (!announced) return { do: 'rest', reason: 'the announcement is not in the log yet' };
      return { do: 'ensure', reason: `announced change (${differing})` };
    case 'initialized':
    case 'ready':
    case 'not-ready':
      return { do: 'rest', reason: 'a change must be announced first' };
  }
};
