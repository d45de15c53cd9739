import { groupsOf, type ConcurrencyGroups } from '../concurrency.groups.js';
import type { Job } from './decorators.js';
import type { JobsProgress } from './jobs.progress.js';

export interface PlacesOptions {
  readonly concurrency: number;
  readonly groups: ConcurrencyGroups;
  readonly progress: Pick<JobsProgress, 'waitingForGroups'>;
  /** A job has ended. */
  readonly onFree: () => void;
}

interface Taken {
  readonly job: Job;
  /** Never rejects. */
  readonly run: () => Promise<void>;
  /** It will not run here. */
  readonly giveBack: () => void;
}

const countsOf = (names: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};

/**
 * How many jobs run at a time. A job whose group is full waits here and takes no place, so that jobs which come after it are taken; how many
 * may wait is limited by what the server delivers without an acknowledgement.
 */
export class Places {
  private waiting: readonly Taken[] = [];
  private running = 0;

  constructor(private readonly options: PlacesOptions) {
    options.groups.onPlace(() => this.resume());
  }

  /** How many more jobs can be taken. */
  get free(): number {
    return Math.max(0, this.options.concurrency - this.running);
  }

  /** Runs it as soon as there is a place, and one in each of its groups. */
  take(taken: Taken): void {
    if (this.hasPlace(taken)) void this.run(taken);
    else this.keep([...this.waiting, taken]);
  }

  giveBack(): void {
    const waiting = this.waiting;
    this.keep([]);
    for (const { giveBack } of waiting) giveBack();
  }

  private hasPlace({ job }: Taken): boolean {
    return this.free > 0 && this.options.groups.full(groupsOf(job)) === undefined;
  }

  private async run({ job, run }: Taken): Promise<void> {
    const groups = groupsOf(job);
    this.running += 1;
    this.options.groups.enter(groups);
    await run();
    this.running -= 1;
    this.options.groups.leave(groups);
    this.resume();
    this.options.onFree();
  }

  /** Those that have waited longest come first. */
  private resume(): void {
    const left = this.waiting.filter((taken) => {
      const runs = this.hasPlace(taken);
      if (runs) void this.run(taken);
      return !runs;
    });
    if (left.length < this.waiting.length) this.keep(left);
  }

  private keep(waiting: readonly Taken[]): void {
    this.waiting = waiting;
    const { groups, progress } = this.options;
    progress.waitingForGroups(countsOf(waiting.flatMap(({ job }) => groups.full(groupsOf(job)) ?? [])));
  }
}
