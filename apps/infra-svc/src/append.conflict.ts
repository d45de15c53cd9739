import { isRefusal, ExternalFailure, type Refusal } from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';

/** infra-svc's own deciders never refuse, so a refusal is a concurrent write, which is retried. */
export const retryOnConflict = <State>(outcome: Decided<State> | Refusal, target: string): Decided<State> => {
  if (isRefusal(outcome)) throw new ExternalFailure({ operation: 'append', target, message: outcome.message });
  return outcome;
};
