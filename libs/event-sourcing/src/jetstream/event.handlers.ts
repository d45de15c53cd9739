import type { StoredEvent } from '@fairlead/contracts';
import { poisonOf, type Poison } from '../projection.js';

/** What is done when an event of certain types is read: the methods decorated with OnEvent. */
export interface EventHandlers {
  readonly types: ReadonlySet<string>;
  call(event: StoredEvent): Promise<void>;
}

const ATTEMPTS_MAX = 4;
const RETRY_FIRST_MS = 50;

/** Tries some times; answers the poison that the event is to its handler if none went well. */
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
