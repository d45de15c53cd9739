import type { JobOutcome } from './meter.js';

/** A job at work in this replica. */
export interface JobAtWork {
  readonly what: string;
  readonly sinceMs: number;
  readonly limitMs: number;
  /** Its concurrency groups. */
  readonly groups: readonly string[];
}

/** What a replica's runner of jobs does. Times are milliseconds of any one clock. */
export interface JobsStatistics {
  readonly concurrency: number;
  readonly atWork: readonly JobAtWork[];
  /** When the last job ended, done or failed; one that asks to be called again has not. */
  readonly lastEndMs: number;
  /** Since when jobs wait to be taken; null: none does. Those with a delay do not wait: they are not due. */
  readonly waitingSinceMs: number | null;
  /** Since when jobs were given back because their leases are held, and none else was at work; null: none was. */
  readonly blockedSinceMs: number | null;
  /** The longest time that any task may take: so long another replica may hold a lease. */
  readonly longestMs: number;
}

export const STUCK_AFTER_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

const minutes = (ms: number): string => `${Math.floor(ms / MINUTE_MS)} min`;

/** A handler ends at its limit, also one that does not answer: what comes after it, recording the failure, is what hangs. */
const overdue = ({ atWork }: JobsStatistics, nowMs: number): string | undefined => {
  const found = atWork.find(({ sinceMs, limitMs }) => nowMs - sinceMs - limitMs >= STUCK_AFTER_MS);
  return found && `${found.what} has not ended ${minutes(nowMs - found.sinceMs - found.limitMs)} after its time limit`;
};

const untaken = (statistics: JobsStatistics, nowMs: number): string | undefined => {
  const { waitingSinceMs, lastEndMs, atWork, concurrency } = statistics;
  if (waitingSinceMs === null) return undefined;
  const quietMs = nowMs - Math.max(waitingSinceMs, lastEndMs);
  if (quietMs < STUCK_AFTER_MS) return undefined;
  const [longest] = [...atWork].sort((one, other) => one.sinceMs - other.sinceMs);
  const why =
    atWork.length < concurrency || longest === undefined
      ? 'and none of them was taken'
      : `and all ${concurrency} places are taken, for ${minutes(nowMs - longest.sinceMs)} by ${longest.what}`;
  return `no task has ended for ${minutes(quietMs)} although tasks wait, ${why}`;
};

const blocked = ({ blockedSinceMs, longestMs }: JobsStatistics, nowMs: number): string | undefined =>
  blockedSinceMs !== null && nowMs - blockedSinceMs >= longestMs + STUCK_AFTER_MS
    ? `tasks have waited ${minutes(nowMs - blockedSinceMs)} for leases, longer than any task may take`
    : undefined;

/** `ok`, or why this replica reconciles nothing although work waits. */
export const jobsReport = (statistics: JobsStatistics, nowMs: number): string =>
  overdue(statistics, nowMs) ?? untaken(statistics, nowMs) ?? blocked(statistics, nowMs) ?? 'ok';

/** Tasks that wait because their group has no place left. */
interface GroupQueue {
  readonly group: string;
  readonly count: number;
  readonly sinceMs: number;
}

/** Shorter waits are ordinary. */
export const WAIT_SHOWN_AFTER_MS = MINUTE_MS;

/** What waits for a group, and what has its places. */
export interface GroupWait {
  readonly group: string;
  readonly count: number;
  /** How long something has waited. */
  readonly waitedMs: number;
  readonly places: number;
  /** What has had its place longest; undefined: nothing has one. */
  readonly longest: { readonly what: string; readonly takenMs: number } | undefined;
}

const waitOf = ({ group, count, sinceMs }: GroupQueue, atWork: readonly JobAtWork[], nowMs: number): GroupWait => {
  const inGroup = atWork.filter(({ groups }) => groups.includes(group));
  const [first] = inGroup.toSorted((one, other) => one.sinceMs - other.sinceMs);
  const longest = first && { what: first.what, takenMs: nowMs - first.sinceMs };
  return { group, count, waitedMs: nowMs - sinceMs, places: inGroup.length, longest };
};

/** What has waited for long, a sentence for each group. */
const waitsReport = (waits: readonly GroupWait[]): readonly string[] =>
  waits
    .filter(({ waitedMs }) => waitedMs >= WAIT_SHOWN_AFTER_MS)
    .map(({ group, count, waitedMs, places, longest }) => {
      const tasks = count === 1 ? '1 task waits' : `${count} tasks wait`;
      const why =
        longest === undefined
          ? ''
          : `: its ${places} places are taken, for ${minutes(longest.takenMs)} by ${longest.what}`;
      return `${tasks} for ${group} since ${minutes(waitedMs)}${why}`;
    });

/** Gathers the statistics of one replica. */
export class JobsProgress {
  private readonly atWork = new Map<string, JobAtWork>();
  private queues: readonly GroupQueue[] = [];
  private lastEndMs: number;
  private waitingSinceMs: number | null = null;
  private blockedSinceMs: number | null = null;
  private readonly groupListeners: (() => void)[] = [];
  private limits = { concurrency: 1, longestMs: 0 };

  constructor(private readonly nowMs: () => number) {
    this.lastEndMs = nowMs();
  }

  configured(limits: { readonly concurrency: number; readonly longestMs: number }): void {
    this.limits = limits;
  }

  /** So many jobs are due and not taken. */
  waiting(count: number): void {
    this.waitingSinceMs = count === 0 ? null : (this.waitingSinceMs ?? this.nowMs());
  }

  /** How many tasks wait for each group. They are no reason to restart anything: what hangs is outside. */
  waitingForGroups(counts: ReadonlyMap<string, number>): void {
    const before = new Map(this.queues.map(({ group, sinceMs }) => [group, sinceMs]));
    this.queues = [...counts].map(([group, count]) => ({ group, count, sinceMs: before.get(group) ?? this.nowMs() }));
    const isSame = counts.size === before.size && [...counts.keys()].every((group) => before.has(group));
    if (!isSame) for (const listener of this.groupListeners) listener();
  }

  /** Called when something begins or ceases to wait for a group. */
  onGroupWaits(listener: () => void): void {
    this.groupListeners.push(listener);
  }

  groupWaits(): readonly GroupWait[] {
    return this.queues.map((queue) => waitOf(queue, [...this.atWork.values()], this.nowMs()));
  }

  began(id: string, what: string, limitMs: number, groups: readonly string[] = []): void {
    this.atWork.set(id, { what, sinceMs: this.nowMs(), limitMs, groups });
  }

  /** `isBlocked`: its lease is held, and nothing was done. */
  ended(id: string, outcome: JobOutcome | 'given back', isBlocked = false): void {
    this.atWork.delete(id);
    const isEnd = outcome === 'done' || outcome === 'failed' || outcome === 'buried';
    if (isEnd) this.lastEndMs = this.nowMs();
    const isAlone = this.atWork.size === 0;
    this.blockedSinceMs =
      isBlocked && isAlone ? (this.blockedSinceMs ?? this.nowMs()) : isEnd ? null : this.blockedSinceMs;
  }

  /** What waits although this replica is well; empty: nothing has waited for long. */
  waits(): readonly string[] {
    return waitsReport(this.groupWaits());
  }

  report(): string {
    const { atWork, lastEndMs, blockedSinceMs, waitingSinceMs, limits } = this;
    return jobsReport(
      { ...limits, atWork: [...atWork.values()], lastEndMs, waitingSinceMs, blockedSinceMs },
      this.nowMs(),
    );
  }
}
