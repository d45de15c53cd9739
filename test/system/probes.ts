import { request } from 'node:https';

const PROBE_TIMEOUT_MS = 5_000;
const PROBE_EVERY_MS = 100;

/** One request to the API server behind the address; undefined: it was answered with 200. */
const probe = (url: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const asked = request(
      `${url}/readyz`,
      { rejectUnauthorized: false, agent: false, timeout: PROBE_TIMEOUT_MS },
      (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode === 200 ? undefined : `status ${answer.statusCode}`));
      },
    );
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', (error) => resolve(error.message));
    asked.end();
  });

export interface Probes {
  readonly failures: readonly string[];
  count(): number;
  /** Failures until `resume` are not counted. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Requests the API of a cluster continuously, each time over a new connection. */
export const startProbes = (endpoint: string): Probes => {
  const failures: string[] = [];
  const stopped = new AbortController();
  let [probes, paused] = [0, false];
  const probing = (async () => {
    while (!stopped.signal.aborted) {
      const failure = await probe(endpoint);
      probes += 1;
      if (failure !== undefined && !paused) failures.push(`${new Date().toISOString()} ${failure}`);
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  })();
  return {
    failures,
    count: () => probes,
    pause: () => (paused = true),
    resume: () => (paused = false),
    stop: async () => {
      stopped.abort();
      await probing;
    },
  };
};
