import type { MaintenanceWindow } from '@fairlead/contracts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const DAY_MS = 24 * 3_600_000;
const minutesOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
};

/**
 * The spans of a window around a time: those that begin on the day before, on the day, and on the seven days after it.
 */
const spansAround = ({ days, from, to }: MaintenanceWindow, nowMs: number): readonly (readonly [number, number])[] => {
  const midnight = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const length = (minutesOf(to) - minutesOf(from) + 24 * 60) % (24 * 60) || 24 * 60;
  return Array.from({ length: 9 }, (_, index) => midnight + (index - 1) * DAY_MS)
    .filter((day) => days.includes(DAYS[new Date(day).getUTCDay()] ?? 'sun'))
    .map((day) => [day + minutesOf(from) * 60_000, day + (minutesOf(from) + length) * 60_000] as const);
};

/** D7: whether a node may start now, and when that changes next. No windows: always. */
export const d7Window = (
  windows: readonly MaintenanceWindow[],
  now: string,
): { readonly open: boolean; readonly changesAt: string | null } => {
  if (windows.length === 0) return { open: true, changesAt: null };
  const nowMs = Date.parse(now);
  const spans = windows.flatMap((window) => spansAround(window, nowMs));
  const current = spans.filter(([begin, end]) => begin <= nowMs && nowMs < end);
  const at = (times: readonly number[]): string | null =>
    times.length === 0 ? null : new Date(Math.min(...times)).toISOString();
  if (current.length > 0) return { open: true, changesAt: at([Math.max(...current.map(([, end]) => end))]) };
  return { open: false, changesAt: at(spans.map(([begin]) => begin).filter((begin) => begin > nowMs)) };
};
