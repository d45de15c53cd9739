import type { StoredEvent } from '@fairlead/contracts';
import { poisonOf, type Poison } from '../projection.js';

/** The methods decorated with OnEvent, called when an event of their types is read. */
export interface EventHandlers {
  readonly types: ReadonlySet<string>;
  call(event: StoredEvent): Promise<void>;
}

const ATTEMPTS_MAX = 4;
const RETRY_FIRST_MS = 50;

/** Calls the handler with retries; returns the poison if every attempt failed. */
export const callHandler = async (
  handlers: EventHandlers,
  event: StoredEvent,
  pause: (ms: number) => Promise<void>,
): Promise<Poison | undefined> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await handlers.call(event);
      return undefined;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) return poisonOf(event, error);
      await pause(RETRY_FIRST_MS * 2 ** attempt);
    }
  }
};
