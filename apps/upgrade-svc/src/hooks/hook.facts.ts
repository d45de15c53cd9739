import type { EventData, HookOutcome } from '@fairlead/contracts';
import type { EffectFact } from '../rollout/rollout.commands.js';

type About = Omit<EventData<'UpgradeHookSucceeded'>, 'message'>;

/** What the outcome of a call is as a fact of the rollout. */
export const hookFact = (about: About, outcome: HookOutcome): EffectFact => {
  const { message } = outcome;
  switch (outcome.type) {
    case 'HookSucceeded':
      return { type: 'UpgradeHookSucceeded', data: { ...about, message } };
    case 'HookBlocked':
      return { type: 'UpgradeHookBlocked', data: { ...about, message, nextAttemptAt: outcome.nextAttemptAt } };
    case 'HookFailed': {
      const cause = { operation: 'call the hook', target: about.hook, message };
      return { type: 'UpgradeHookFailed', data: { ...about, cause, nextAttemptAt: outcome.nextAttemptAt } };
    }
  }
};
