import { z } from 'zod';

const ANSWER_TIMEOUT_MS = 3_000;

const Readiness = z.object({ services: z.record(z.string(), z.string()).default({}) });

/** What explains that a cluster does not go on: a sentence for each service that the gateway has not heard of for a while. */
export const silentServices = async (server: string): Promise<readonly string[]> => {
  try {
    const response = await fetch(`${server}/readyz`, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    const { services } = Readiness.parse(await response.json());
    return Object.entries(services)
      .filter(([, sign]) => sign !== 'ok')
      .map(([service, sign]) => `${service}: ${sign}`);
  } catch {
    return []; // Whether the gateway is reached, the answer to the command itself tells.
  }
};
