/** What parsing of text from outside may take without a pause, on a machine that does the yardstick in its time. */
const PROMISE_MS_PER_MIB = 200;
const MEBIBYTE = 1_048_576;
/** Below this, the clock of a process and its compiler count more than the parser. It is not noticed. */
const NOTICED_MS = 25;
/** What the yardstick took on the machine on which the promise was measured. */
const YARDSTICK_MS = 30;
const ATTEMPTS = 3;

/** Of this process: what others do on the machine meanwhile does not count. */
const processorMs = (work: () => unknown): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

const YARDSTICK = `[${Array.from({ length: 30_000 }, (_, at) => `{"k${at % 5_000}":"${at.toString(36)}"}`).join(',')}]`;

/** Work of the kind that parsers do: characters, maps and strings. */
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

/** Caches, collectors of garbage and compilers, which others on the machine disturb. */
const NOISE = 2;

/** How many times longer than in the promise this machine takes now; at least once. */
const slowness = (): number => Math.max(1, fastest(yardstick, 0, 2) / YARDSTICK_MS);

/**
 * Whether a text was worked on within the promise: 200 ms per MiB of processor time without a pause. Where the machine is slower than
 * the one of the promise, a yardstick shows by how much, and the best of a few attempts counts. What grows with the square of the
 * length takes tens of times longer and is found on any machine.
 *
 * @returns undefined, or by how much it took longer
 */
export const promiseBrokenBy = (length: number, work: () => unknown): string | undefined => {
  const promised = Math.max(NOTICED_MS, (length / MEBIBYTE) * PROMISE_MS_PER_MIB);
  const first = processorMs(work);
  if (first <= promised) return undefined;
  const allowed = promised * slowness() * NOISE;
  const took = Math.min(first, fastest(work, allowed, ATTEMPTS));
  return took <= allowed ? undefined : `${Math.round(took)} ms, where ${Math.round(allowed)} ms are allowed`;
};
