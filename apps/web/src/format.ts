const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (value: number): string => String(value).padStart(2, '0');

/** `850 ms`, `42 s`, `3 m 07 s`, `5 h 02 m`, `12 d 4 h`. */
export const durationText = (ms: number): string => {
  const size = Math.abs(ms);
  if (size < SECOND) return `${Math.round(size)} ms`;
  if (size < MINUTE) return `${Math.floor(size / SECOND)} s`;
  if (size < HOUR) return `${Math.floor(size / MINUTE)} m ${two(Math.floor((size % MINUTE) / SECOND))} s`;
  if (size < DAY) return `${Math.floor(size / HOUR)} h ${two(Math.floor((size % HOUR) / MINUTE))} m`;
  return `${Math.floor(size / DAY)} d ${Math.floor((size % DAY) / HOUR)} h`;
};

/** `3 m ago`, `in 12 d`; of small differences `now`. */
export const relativeText = (atMs: number, nowMs: number): string => {
  const size = Math.abs(nowMs - atMs);
  if (size < SECOND * 2) return 'now';
  const [unit, name] =
    size < MINUTE ? [SECOND, 's'] : size < HOUR ? [MINUTE, 'm'] : size < DAY ? [HOUR, 'h'] : [DAY, 'd'];
  const text = `${Math.floor(size / (unit as number))} ${name as string}`;
  return atMs <= nowMs ? `${text} ago` : `in ${text}`;
};

/** In the zone of the reader: `14:03:09`, and the day before it unless it is today. */
export const clockText = (atMs: number, nowMs: number): string => {
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
};

/** The exact time, with the zone of the reader, and in UTC. */
export const exactText = (iso: string): string => {
  const at = new Date(iso);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${at.toLocaleString('sv')}.${String(at.getMilliseconds()).padStart(3, '0')} ${zone}\n${at.toISOString()}`;
};

/** `user/ada#fl12` -> `ada`, `system/upgrade-svc` -> `upgrade-svc`. */
export const actorText = (actor: string): string =>
  actor.replace(/^(user|system|node)\//, '').replace(/#[0-9a-f]+$/, '');

export const isPerson = (actor: string): boolean => actor.startsWith('user/');

/** `1 node`, `3 nodes`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

/** A word for a hash that two people can compare aloud: its first 12 digits in groups. */
export const hashText = (hash: string): string => (hash.slice(0, 12).match(/.{4}/g) ?? []).join(' ');
