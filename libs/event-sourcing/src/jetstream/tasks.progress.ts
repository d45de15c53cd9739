import type { AttemptOutcome } from './meter.js';

/** A task that this replica is working on. */
export interface TaskAtWork {
  readonly what: string;
  readonly sinceMs: number;
  readonly limitMs: number;
  /** Its concurrency groups. */
  readonly groups: readonly string[];
}

/** Statistics of a replica's task runner. Times are milliseconds of any one clock. */
export interface TasksStatistics {
  readonly concurrency: number;
  readonly atWork: readonly TaskAtWork[];
  /** When the last task ended, done or failed; a requeued task does not count. */
  readonly lastEndMs: number;
  /** Since when due tasks wait for a slot; null: none. Delayed tasks do not count: they are not due. */
  readonly waitingSinceMs: number | null;
  /** Since when tasks were requeued because their leases are held while no other task was running; null: none. */
  readonly blockedSinceMs: number | null;
  /** The longest timeout of any task: how long another replica may hold a lease. */
  readonly longestMs: number;
}

export const STUCK_AFTER_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

const minutes = (ms: number): string => `${Math.floor(ms / MINUTE_MS)} min`;

/** Handlers end at their timeout, even unresponsive ones: what hangs is the recording of the failure afterwards. */
const overdue = ({ atWork }: TasksStatistics, nowMs: number): string | undefined => {
  const found = atWork.find(({ sinceMs, limitMs }) => nowMs - sinceMs - limitMs >= STUCK_AFTER_MS);
  return found && `${found.what} has not ended ${minutes(nowMs - found.sinceMs - found.limitMs)} after its time limit`;
};

const untaken = (statistics: TasksStatistics, nowMs: number): string | undefined => {
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

const blocked = ({ blockedSinceMs, longestMs }: TasksStatistics, nowMs: number): string | undefined =>
  blockedSinceMs !== null && nowMs - blockedSinceMs >= longestMs + STUCK_AFTER_MS
    ? `tasks have waited ${minutes(nowMs - blockedSinceMs)} for leases, longer than any task may take`
    : undefined;

/** `ok`, or why this replica makes no progress although work is waiting. */
export const tasksReport = (statistics: TasksStatistics, nowMs: number): string =>
  overdue(statistics, nowMs) ?? untaken(statistics, nowMs) ?? blocked(statistics, nowMs) ?? 'ok';

/** Tasks that wait for a free slot of their group. */
interface GroupQueue {
  readonly group: string;
  readonly count: number;
  readonly sinceMs: number;
}

/** Shorter waits are normal. */
export const WAIT_SHOWN_AFTER_MS = MINUTE_MS;

/** The tasks that wait for a group, and those that hold its slots. */
export interface GroupWait {
  readonly group: string;
  readonly count: number;
  /** How long a task has waited. */
  readonly waitedMs: number;
  readonly places: number;
  /** The task that has held its slot longest; undefined: none. */
  readonly longest: { readonly what: string; readonly takenMs: number } | undefined;
}

const waitOf = ({ group, count, sinceMs }: GroupQueue, atWork: readonly TaskAtWork[], nowMs: number): GroupWait => {
  const inGroup = atWork.filter(({ groups }) => groups.includes(group));
  const [first] = inGroup.toSorted((one, other) => one.sinceMs - other.sinceMs);
  const longest = first && { what: first.what, takenMs: nowMs - first.sinceMs };
  return { group, count, waitedMs: nowMs - sinceMs, places: inGroup.length, longest };
};

/** Long waits, one sentence per group. */
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

/** Collects the statistics of one replica. */
export class TasksProgress {
  private readonly atWork = new Map<string, TaskAtWork>();
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

  /** Sets the number of due tasks that wait for a slot. */
  waiting(count: number): void {
    this.waitingSinceMs = count === 0 ? null : (this.waitingSinceMs ?? this.nowMs());
  }

  /** Sets the number of tasks that wait for each group. They are no reason for a restart: what hangs is external. */
  waitingForGroups(counts: ReadonlyMap<string, number>): void {
    const before = new Map(this.queues.map(({ group, sinceMs }) => [group, sinceMs]));
    this.queues = [...counts].map(([group, count]) => ({ group, count, sinceMs: before.get(group) ?? this.nowMs() }));
    const isSame = counts.size === before.size && [...counts.keys()].every((group) => before.has(group));
    if (!isSame) for (const listener of this.groupListeners) listener();
  }

  /** Called when a task starts or stops waiting for a group. */
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
  ended(id: string, outcome: AttemptOutcome | 'given back', isBlocked = false): void {
    this.atWork.delete(id);
    const isEnd = outcome === 'done' || outcome === 'failed' || outcome === 'buried';
    if (isEnd) this.lastEndMs = this.nowMs();
    const isAlone = this.atWork.size === 0;
    this.blockedSinceMs =
      isBlocked && isAlone ? (this.blockedSinceMs ?? this.nowMs()) : isEnd ? null : this.blockedSinceMs;
  }

  /** Long waits although this replica is healthy; empty: none. */
  waits(): readonly string[] {
    return waitsReport(this.groupWaits());
  }

  report(): string {
    const { atWork, lastEndMs, blockedSinceMs, waitingSinceMs, limits } = this;
    return tasksReport(
      { ...limits, atWork: [...atWork.values()], lastEndMs, waitingSinceMs, blockedSinceMs },
      this.nowMs(),
    );
  }
}
