/** What clients can cause to be said, in a minute. */
export const LINES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;

export type SayOfClients = (level: 'warn', message: string) => void;

/** Anyone can send what fails. So only so much of it is said, and then how much was left out. */
export const boundedSay = (say: SayOfClients, now: () => Date): SayOfClients => {
  let sinceMs = -Infinity;
  let lines = 0;
  return (level, message) => {
    const nowMs = now().getTime();
    if (nowMs - sinceMs >= MINUTE_MS) {
      if (lines > LINES_PER_MINUTE) say(level, `${lines - LINES_PER_MINUTE} more failures of clients were not logged`);
      sinceMs = nowMs;
      lines = 0;
    }
    lines += 1;
    if (lines <= LINES_PER_MINUTE) say(level, message);
  };
};
