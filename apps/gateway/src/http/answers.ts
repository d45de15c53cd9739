import { refuse } from '@fairlead/contracts';
import type { Positions } from '@fairlead/event-sourcing/jetstream';
import { isOutage } from './outage.js';
import { RefusalError } from './refusal.error.js';
import type { HttpResponse } from './http.types.js';

const CATCH_UP_MS = 5_000;

/** Says where in the log the command stands, so that a later read can ask to see it. */
export const showSeq = (response: HttpResponse, seq: number): void => {
  response.setHeader('X-Fairlead-Seq', String(seq));
};

export interface Accepted {
  readonly seq: number;
  /** Where what was asked for can be seen. */
  readonly location: string;
  readonly status: 200 | 201 | 202;
  readonly waited: boolean;
}

export const accept = (response: HttpResponse, { seq, location, status, waited }: Accepted): void => {
  showSeq(response, seq);
  response.setHeader('Location', location);
  if (waited) response.setHeader('Preference-Applied', 'wait');
  response.status(status);
};

const RECORDED_WAIT_MS = 1_000;

/**
 * Waits a moment until this service's own rows show a command that was recorded; false: they are late, or cannot be asked. Never a
 * refusal: a repetition would record the command again.
 */
export const shownSoon = async (positions: Positions, seq: number): Promise<boolean> => {
  try {
    return (await positions.waitFor(seq, RECORDED_WAIT_MS)) === true;
  } catch (error) {
    if (isOutage(error)) return false;
    throw error;
  }
};

/** Until this service's own rows show the sequence; refused when that takes too long or the log is not there yet. */
export const untilShown = async (positions: Positions, seq: number, parameter = 'minSeq'): Promise<void> => {
  if (seq <= 0) return;
  const shown = await positions.waitFor(seq, CATCH_UP_MS);
  if (shown === undefined) throw new RefusalError(refuse('wait.seq-ahead', { seq }, parameter));
  if (!shown) throw new RefusalError(refuse('wait.too-long', { seq, seconds: CATCH_UP_MS / 1000 }, parameter));
};
