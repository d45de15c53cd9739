import * as z from 'zod';
import type { Access } from '../api/access.js';
import { deadlineAfter } from '../time/deadline.js';

const ANSWER_TIMEOUT_MS = 3_000;

const words = z.record(z.string(), z.string()).default({});
const Readiness = z.object({ services: words, alarms: words });

/** Possible causes of a cluster without progress: a sentence for each silent service and for each alarm. */
export const silentServices = async ({
  server,
  fetch,
}: Pick<Access, 'server' | 'fetch'>): Promise<readonly string[]> => {
  const late = deadlineAfter(ANSWER_TIMEOUT_MS);
  try {
    const response = await fetch(new Request(`${server}/readyz`, { signal: late.signal }));
    const { services, alarms } = Readiness.parse(await response.json());
    return [...Object.entries(services), ...Object.entries(alarms)]
      .filter(([, sign]) => sign !== 'ok')
      .map(([name, sign]) => `${name}: ${sign}`);
  } catch {
    return []; // The command's own request shows whether the gateway is reachable.
  } finally {
    late.clear();
  }
};
