import { isRefusal, type Refusal } from '@fairlead/contracts';

/** Carries refusals out of a handler to the filter that answers them. The first one decides the status. */
export class RefusalError extends Error {
  readonly refusals: readonly [Refusal, ...Refusal[]];
  /** When it may be worth asking again; undefined: as the status says. */
  retryAfterSeconds: number | undefined;

  constructor(first: Refusal, ...others: readonly Refusal[]) {
    super(first.message);
    this.name = 'RefusalError';
    this.refusals = [first, ...others];
  }

  retryAfter(seconds: number): this {
    this.retryAfterSeconds = seconds;
    return this;
  }
}

/** The outcome, or the end of the request. */
export const unwrap = <T extends object>(outcome: T | Refusal): T => {
  if (isRefusal(outcome)) throw new RefusalError(outcome);
  return outcome;
};

/** Ends the request when anything is wrong. */
export const throwIfRefused = (faults: readonly Refusal[]): void => {
  const [first, ...others] = faults;
  if (first !== undefined) throw new RefusalError(first, ...others);
};
