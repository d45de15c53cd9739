import { describe, expect, it } from '@jest/globals';
import { CommitGroup } from './commit.group.js';

const PARTITIONS = Array.from({ length: 8 }, (_, partition) => partition);

const groupUnder = (load: number, unwritable: readonly number[] = []) => {
  const written: (readonly number[])[] = [];
  const group = new CommitGroup<{ readonly partition: number }>({
    load: () => load,
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
  /** Many partitions are busy from now on. */
  const busy = async (): Promise<void> => {
    await Promise.all(PARTITIONS.map(commit));
    written.length = 0;
  };
  return { written, commit, busy };
};

describe('commits of partitions', () => {
  it('wait for nothing while processors are not short, nor while few partitions are busy', async () => {
    const idle = groupUnder(0);
    await idle.busy();
    await Promise.all([1, 2, 3].map(idle.commit));
    expect(idle.written).toEqual([[1], [2], [3]]);
    const loaded = groupUnder(1);
    await Promise.all([1, 1, 2].map(loaded.commit));
    expect(loaded.written).toEqual([[1], [1], [2]]);
  });

  it('wait for each other under load, and are written at once', async () => {
    const { busy, commit, written } = groupUnder(1);
    await busy();
    expect(await Promise.all([1, 2, 3].map(commit))).toEqual(['written', 'written', 'written']);
    expect(written).toEqual([[1, 2, 3]]);
  });

  it('are written alone where one of them cannot be written, so that only that one fails', async () => {
    const { busy, commit, written } = groupUnder(1, [2]);
    await busy();
    expect(await Promise.all([1, 2, 3].map(commit))).toEqual(['written', 'a fault of one', 'written']);
    expect(written).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('fail together where it is not known what was written', async () => {
    const { busy, commit, written } = groupUnder(1);
    await busy();
    expect(new Set(await Promise.all([-1, 2, 3].map(commit)))).toEqual(new Set(['PostgreSQL is away']));
    expect(written).toHaveLength(1);
  });
});
