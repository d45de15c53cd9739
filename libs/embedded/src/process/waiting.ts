import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until the condition holds or the deadline has passed. Returns whether it held. */
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
