const SPIN_MS = 100;

/** How many times longer a busy thread takes now because other programs use the processors; at least one. */
export const contention = (): number => {
  const startedAt = performance.now();
  const usedMs = processorMs(() => {
    while (performance.now() - startedAt < SPIN_MS);
  });
  return Math.max(1, (performance.now() - startedAt) / usedMs);
};

/** Maximum CPU time to parse untrusted text without a pause, on a machine with the yardstick's speed. */
const PROMISE_MS_PER_MIB = 200;
const MEBIBYTE = 1_048_576;
/** Below this, clock resolution and compilation dominate, so shorter times are ignored. */
const NOTICED_MS = 25;
/** Duration of the yardstick on the machine for which the limit was defined. */
const YARDSTICK_MS = 30;
const ATTEMPTS = 3;

/** CPU time of this process: other load on the machine does not count. */
const processorMs = (work: () => unknown): number => {
  const before = process.cpuUsage();
  work();
  return sinceMs(before);
};

const sinceMs = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** The same for work that may be asynchronous. */
const processorMsOf = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  return sinceMs(before);
};

const YARDSTICK = `[${Array.from({ length: 30_000 }, (_, at) => `{"k${at % 5_000}":"${at.toString(36)}"}`).join(',')}]`;

/** Work like that of parsers: characters, maps and strings. */
const yardstick = (): unknown => {
  let sum = 0;
  for (let at = 0; at < YARDSTICK.length; at += 1) sum += YARDSTICK.charCodeAt(at);
  const items = JSON.parse(YARDSTICK) as readonly object[];
  return [sum, items.map((item) => Object.entries(item).join()).join()];
};

const fastest = (work: () => unknown, enough: number, attempts: number): number => {
  let best = Infinity;
  for (let attempt = 0; attempt < attempts && best > enough; attempt += 1) best = Math.min(best, processorMs(work));
  return best;
};

/** Tolerance for caches, garbage collection and compilation, which other load affects. */
const NOISE = 2;

/** How many times slower than the reference this machine currently is; at least one. */
const slowness = (): number => Math.max(1, fastest(yardstick, 0, 2) / YARDSTICK_MS);

/**
 * Whether work on a text took at most 200 ms of CPU time per MiB without a pause. On slower machines a yardstick scales
 * the limit, and the best of a few attempts counts. Quadratic behaviour takes tens of times longer and is detected on
 * any machine.
 * @returns undefined, or by how much it took longer
 */
export const promiseBrokenBy = async (length: number, work: () => unknown): Promise<string | undefined> => {
  const promised = Math.max(NOTICED_MS, (length / MEBIBYTE) * PROMISE_MS_PER_MIB);
  let took = await processorMsOf(work);
  if (took <= promised) return undefined;
  const allowed = promised * slowness() * NOISE;
  for (let attempt = 0; attempt < ATTEMPTS && took > allowed; attempt += 1)
    took = Math.min(took, await processorMsOf(work));
  return took <= allowed ? undefined : `${Math.round(took)} ms, where ${Math.round(allowed)} ms are allowed`;
};
