const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration as text: `0.4s`, `12s`, `3m07s`, `2h05m`, `4d`. */
export const formatDuration = (durationMs: number): string => {
  const ms = Math.max(0, durationMs);
  if (ms < 10 * SECOND_MS) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)}s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m${two(Math.floor((ms % MINUTE_MS) / SECOND_MS))}s`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)}h${two(Math.floor((ms % HOUR_MS) / MINUTE_MS))}m`;
  return `${Math.floor(ms / DAY_MS)}d`;
};

const two = (value: number): string => String(value).padStart(2, '0');

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const PART = /(\d{1,15}(?:\.\d{1,15})?)(ms|s|m|h|d)/g;

/** Parses `90s`, `10m`, `1h30m`, `250ms` to milliseconds; undefined for other texts. */
export const parseDuration = (text: string): number | undefined => {
  const parts = [...text.matchAll(PART)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS_MS[unit ?? ''] ?? 0), 0);
};
