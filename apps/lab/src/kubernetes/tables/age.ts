const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/**
 * A duration in kubectl's format: at most two units, the second only for short durations (apimachinery,
 * duration.HumanDuration).
 */
export const humanDuration = (spanMs: number): string => {
  if (spanMs < 2 * MINUTE) return `${Math.max(0, Math.floor(spanMs / SECOND))}s`;
  if (spanMs < 10 * MINUTE) return pair(spanMs, [MINUTE, 'm'], [SECOND, 's']);
  if (spanMs < 3 * HOUR) return `${Math.floor(spanMs / MINUTE)}m`;
  if (spanMs < 8 * HOUR) return pair(spanMs, [HOUR, 'h'], [MINUTE, 'm']);
  if (spanMs < 2 * DAY) return `${Math.floor(spanMs / HOUR)}h`;
  if (spanMs < 8 * DAY) return pair(spanMs, [DAY, 'd'], [HOUR, 'h']);
  if (spanMs < 2 * YEAR) return `${Math.floor(spanMs / DAY)}d`;
  if (spanMs < 8 * YEAR) return pair(spanMs, [YEAR, 'y'], [DAY, 'd']);
  return `${Math.floor(spanMs / YEAR)}y`;
};

type Unit = readonly [sizeMs: number, letter: string];

const pair = (spanMs: number, [large, first]: Unit, [small, second]: Unit): string => {
  const rest = Math.floor((spanMs % large) / small);
  return `${Math.floor(spanMs / large)}${first}${rest === 0 ? '' : `${rest}${second}`}`;
};

export const ageSince = (time: string | null | undefined, nowMs: number): string =>
  time === undefined || time === null ? '<unknown>' : humanDuration(nowMs - Date.parse(time));
