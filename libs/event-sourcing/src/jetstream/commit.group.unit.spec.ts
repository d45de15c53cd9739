import { describe, expect, it } from '@jest/globals';
import { CommitGroup } from './commit.group.js';

const PARTITIONS = Array.from({ length: 8 }, (_, partition) => partition);

const groupUnder = (load: number, unwritable: readonly number[] = []) => {
  let [nowMs, current] = [0, load];
  const written: (readonly number[])[] = [];
  const group = new CommitGroup<{ readonly partition: number }>({
    load: () => current,
    nowMs: () => nowMs,
    waitMs: 20,
    isOfOne: (error) => (error as Error).message === 'a fault of one',
    write: async (batches) => {
      const partitions = batches.map(({ partition }) => partition);
      written.push(partitions);
      if (partitions.includes(-1)) throw new Error('PostgreSQL is away');
      if (partitions.some((partition) => unwritable.includes(partition))) throw new Error('a fault of one');
    },
  });
  const commit = async (partition: number): Promise<string> =>
    group.commit({ partition }).then(
      () => 'written',
      (error: Error) => error.message,
    );
  /** Many partitions are busy from now on, and the load has been constant for five seconds. */
  const busy = async (): Promise<void> => {
    nowMs += 5_000;
    await Promise.all(PARTITIONS.map(commit));
    written.length = 0;
  };
  const moment = (other: number, ms: number): void => {
    current = other;
    nowMs += ms;
  };
  return { written, commit, busy, moment };
};

describe('commits of partitions', () => {
  it('do not wait while CPUs are available, or while few partitions are busy', async () => {
    const idle = groupUnder(0);
    await idle.busy();
    await Promise.all([1, 2, 3].map(idle.commit));
    expect(idle.written).toEqual([[1], [2], [3]]);
    const loaded = groupUnder(1);
    await Promise.all([1, 1, 2].map(loaded.commit));
    expect(loaded.written).toEqual([[1], [1], [2]]);
  });

  it('do not start waiting at a short peak of load, nor stop at a short gap', async () => {
    const idle = groupUnder(0.2);
    await idle.busy();
    idle.moment(1, 200);
    await Promise.all([1, 2].map(idle.commit));
    expect(idle.written).toEqual([[1], [2]]);
    const loaded = groupUnder(1);
    await loaded.busy();
    loaded.moment(0.2, 200);
    await Promise.all([1, 2].map(loaded.commit));
    expect(loaded.written).toEqual([[1, 2]]);
  });

  it('wait for each other under load, and are written in one statement', async () => {
    const { busy, commit, written } = groupUnder(1);
    await busy();
    expect(await Promise.all([1, 2, 3].map(commit))).toEqual(['written', 'written', 'written']);
    expect(written).toEqual([[1, 2, 3]]);
  });

  it('are written individually if one of them cannot be written, so that only that one fails', async () => {
    const { busy, commit, written } = groupUnder(1, [2]);
    await busy();
    expect(await Promise.all([1, 2, 3].map(commit))).toEqual(['written', 'a fault of one', 'written']);
    expect(written).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('fail together if it is unknown what was written', async () => {
    const { busy, commit, written } = groupUnder(1);
    await busy();
    expect(new Set(await Promise.all([-1, 2, 3].map(commit)))).toEqual(new Set(['PostgreSQL is away']));
    expect(written).toHaveLength(1);
  });
});
