/** What parsing of text from outside may take without a pause, on a machine that does the yardstick in its time. */
const PROMISE_MS_PER_MIB = 200;
const MEBIBYTE = 1_048_576;
/** Below this, the clock of a process and its compiler count more than the parser. It is not noticed. */
const NOTICED_MS = 25;
/** What the yardstick took on the machine on which the promise was measured. */
const YARDSTICK_MS = 30;
const ATTEMPTS = 4;

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

const fastest = (work: () => unknown, enough: number): number => {
  let best = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && best > enough; attempt += 1) best = Math.min(best, processorMs(work));
  return best;
};

/** How many times longer than in the promise this machine takes; at least once. Measured each time: processors change their speed. */
const slowness = (): number => Math.max(1, fastest(yardstick, 0) / YARDSTICK_MS);

/**
 * Whether a text was worked on within the promise: 200 ms per MiB of processor time without a pause. The best of a few attempts
 * counts, and where that is not enough, a yardstick shows how slow the machine is. What grows with the square of the length takes a
 * hundred times longer and is found on any machine.
 *
 * @returns undefined, or by how much it took longer
 */
export const promiseBrokenBy = (length: number, work: () => unknown): string | undefined => {
  const promised = Math.max(NOTICED_MS, (length / MEBIBYTE) * PROMISE_MS_PER_MIB);
  const took = fastest(work, promised);
  if (took <= promised) return undefined;
  const allowed = promised * slowness();
  return took <= allowed ? undefined : `${Math.round(took)} ms, where ${Math.round(allowed)} ms are allowed`;
};
