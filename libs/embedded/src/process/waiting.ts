import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is yes, or the deadline has passed. Returns whether it was yes. */
export const waitUntil = async (
  holds: () => boolean | Promise<boolean>,
  { timeoutMs, everyMs }: { timeoutMs: number; everyMs: number },
): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() >= deadline) return false;
    await sleep(everyMs);
  }
  return true;
};
