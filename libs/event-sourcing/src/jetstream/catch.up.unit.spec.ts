import { PARTITION_COUNT } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CatchUp } from './catch.up.js';
import { READ_BATCH, type RawEvent } from './direct.reader.js';

const PARTITIONS = Array.from({ length: PARTITION_COUNT }, (_none, index) => index);
const ENOUGH = PARTITIONS.slice(0, PARTITION_COUNT / 2);

/** The log has one message per partition in turn. */
const partitionAt = (seq: number): number => (seq - 1) % PARTITION_COUNT;
const messageAt = (seq: number): RawEvent => ({
  subject: `evt.${partitionAt(seq)}.default.c.bootstrap.WorkerJoined`,
  seq,
  bytes: new Uint8Array(),
});

async function* logOf(last: number, after: number): AsyncGenerator<readonly RawEvent[]> {
  for (let first = after + 1; first <= last; first += READ_BATCH) {
    await Promise.resolve();
    yield Array.from({ length: Math.min(READ_BATCH, last - first + 1) }, (_none, index) => messageAt(first + index));
  }
}

const world = (last: number) => {
  const passes: number[] = [];
  const warnings: unknown[] = [];
  const catchUp = new CatchUp({
    pass: (after) => {
      passes.push(after);
      return logOf(last, after);
    },
    owned: () => PARTITIONS,
    warn: (error) => warnings.push(error),
  });
  return { catchUp, passes, warnings };
};

const seqsOf = (messages: readonly RawEvent[] | undefined): readonly number[] | undefined =>
  messages?.map(({ seq }) => seq);

/** Everything that a partition gets by asking repeatedly. */
const takeAll = async (catchUp: CatchUp, partition: number, after: number): Promise<readonly number[]> => {
  const taken: number[] = [];
  for (;;) {
    const messages = await catchUp.next(partition, taken.at(-1) ?? after);
    if (messages === undefined) return taken;
    taken.push(...messages.map(({ seq }) => seq));
  }
};

const expected = (partition: number, after: number, last: number): readonly number[] =>
  Array.from({ length: last }, (_none, index) => index + 1).filter(
    (seq) => partitionAt(seq) === partition && seq > after,
  );

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const settle = async (): Promise<void> => {
  await jest.advanceTimersByTimeAsync(5_000);
};

describe('lagging partitions', () => {
  const LAST = 5 * READ_BATCH * PARTITION_COUNT + 7;

  it('read the log once for all of them, each its own messages in order', async () => {
    const { catchUp, passes } = world(LAST);
    const taken = Promise.all(PARTITIONS.map((partition) => takeAll(catchUp, partition, 0)));
    await settle();
    expect(await taken).toEqual(PARTITIONS.map((partition) => expected(partition, 0, LAST)));
    expect(passes).toEqual([0]);
  });

  it('skip messages they already have', async () => {
    const { catchUp, passes } = world(LAST);
    const afterOf = (partition: number): number => 100 + partition;
    const taken = Promise.all(PARTITIONS.map((partition) => takeAll(catchUp, partition, afterOf(partition))));
    await settle();
    expect(await taken).toEqual(PARTITIONS.map((partition) => expected(partition, afterOf(partition), LAST)));
    expect(passes).toEqual([100]);
  });

  it('read by themselves if they are few', async () => {
    const { catchUp, passes } = world(LAST);
    const few = Promise.all(ENOUGH.slice(1).map((partition) => catchUp.next(partition, 0)));
    await settle();
    expect(new Set(await few)).toEqual(new Set([undefined]));
    expect(passes).toEqual([]);
  });

  it('do not wait again if they were few before', async () => {
    const { catchUp } = world(LAST);
    const first = catchUp.next(3, 0);
    await jest.advanceTimersByTimeAsync(50);
    expect(await first).toBeUndefined();
    expect(await catchUp.next(3, 1_000)).toBeUndefined(); // Without advancing the timers.
  });

  it('wait at most once in vain for others that lagged before', async () => {
    const { catchUp, passes } = world(LAST);
    // Enough of them lag, one after the other.
    for (const partition of ENOUGH) {
      const alone = catchUp.next(partition, 0);
      await jest.advanceTimersByTimeAsync(partition < ENOUGH.length - 1 ? 50 : 1_100);
      expect(await alone).toBeUndefined();
    }
    const last = ENOUGH.length - 1;
    expect(await catchUp.next(last, 1_000)).toBeUndefined(); // Without advancing the timers.
    expect(passes).toEqual([]);
  });

  it('share a pass even if a busy machine delays their requests and they drift apart', async () => {
    const { catchUp, passes } = world(LAST);
    for (const partition of ENOUGH.slice(1)) {
      const alone = catchUp.next(partition, 0);
      await jest.advanceTimersByTimeAsync(100);
      expect(await alone).toBeUndefined();
    }
    // Each has read one or more batches by itself since.
    const placeOf = (partition: number): number => (partition % 4) * READ_BATCH * PARTITION_COUNT;
    const taken = Promise.all(ENOUGH.map((partition) => takeAll(catchUp, partition, placeOf(partition))));
    await settle();
    expect(await taken).toEqual(ENOUGH.map((partition) => expected(partition, placeOf(partition), LAST)));
    expect(passes).toEqual([0]);
  });

  it('do not wait for others that are far ahead or behind', async () => {
    const { catchUp, passes } = world(LAST);
    const placeOf = (partition: number): number => partition * 200_000;
    const first = Promise.all(PARTITIONS.map((partition) => catchUp.next(partition, placeOf(partition))));
    await jest.advanceTimersByTimeAsync(50);
    expect(new Set(await first)).toEqual(new Set([undefined]));
    for (const partition of PARTITIONS)
      expect(await catchUp.next(partition, placeOf(partition) + 16_000)).toBeUndefined(); // Without advancing the timers.
    expect(passes).toEqual([]);
  });

  it('do not wait for others that have caught up since', async () => {
    const { catchUp, passes } = world(LAST);
    for (const partition of ENOUGH) {
      const alone = catchUp.next(partition, 0);
      await jest.advanceTimersByTimeAsync(100);
      expect(await alone).toBeUndefined();
      if (partition > 0) catchUp.hasAll(partition);
    }
    expect(await catchUp.next(0, 1_000)).toBeUndefined(); // Without advancing the timers.
    expect(passes).toEqual([]);
  });

  it('join a pass in progress', async () => {
    const { catchUp, passes } = world(LAST);
    const early = Promise.all(ENOUGH.map((partition) => takeAll(catchUp, partition, 0)));
    const late = takeAll(catchUp, PARTITION_COUNT - 1, 40);
    await settle();
    expect(await late).toEqual(expected(PARTITION_COUNT - 1, 40, LAST));
    await early;
    expect(passes).toEqual([0]);
  });

  it('do not wait for one that lags much further', async () => {
    const FAR = 150_000;
    const { catchUp, passes } = world(FAR + LAST);
    const last = catchUp.next(0, 0);
    const others = Promise.all(PARTITIONS.slice(1).map((partition) => takeAll(catchUp, partition, FAR)));
    await settle();
    expect(await last).toBeUndefined();
    expect((await others)[0]).toEqual(expected(1, FAR, FAR + LAST));
    expect(passes).toEqual([FAR]);
  });

  it('do not wait for one that takes nothing, which reads by itself later', async () => {
    const { catchUp } = world(LAST);
    const slow = catchUp.next(0, 0);
    const others = Promise.all(PARTITIONS.slice(1).map((partition) => takeAll(catchUp, partition, 0)));
    await settle();
    expect(seqsOf(await slow)).toHaveLength(READ_BATCH);
    expect((await others)[0]).toEqual(expected(1, 0, LAST));
    const again = catchUp.next(0, (await slow)!.at(-1)!.seq);
    await settle();
    expect(await again).toBeUndefined();
  });

  it('do not buffer large messages for one that takes nothing, which reads by itself later', async () => {
    const LAST_LARGE = 2_000 * PARTITION_COUNT;
    const large = new Uint8Array(16_384);
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const catchUp = new CatchUp({
      pass: async function* () {
        for await (const batch of logOf(LAST_LARGE, 0)) yield batch.map((message) => ({ ...message, bytes: large }));
        await finished;
      },
      owned: () => PARTITIONS,
      warn: () => undefined,
    });
    const slow = catchUp.next(0, 0);
    const others = Promise.all(PARTITIONS.slice(1).map((partition) => takeAll(catchUp, partition, 0)));
    await settle();
    expect(await catchUp.next(0, (await slow)!.at(-1)!.seq)).toBeUndefined();
    finish();
    expect((await others)[0]).toEqual(expected(1, 0, LAST_LARGE));
  });

  it('get their messages before the end if others have many more', async () => {
    const QUIET = PARTITION_COUNT - 1;
    let batches = 0;
    const catchUp = new CatchUp({
      pass: async function* () {
        yield [messageAt(PARTITION_COUNT)];
        for (let seq = PARTITION_COUNT + 1; batches < 200; batches += 1)
          yield Array.from({ length: READ_BATCH }, () => ({ ...messageAt(1), seq: (seq += 1) }));
      },
      owned: () => PARTITIONS,
      warn: () => undefined,
    });
    void takeAll(catchUp, 0, 0);
    for (const partition of ENOUGH.slice(1)) void catchUp.next(partition, 0);
    const quiet = catchUp.next(QUIET, 0).then((messages) => ({ messages, batches }));
    await settle();
    expect(seqsOf((await quiet).messages)).toEqual([PARTITION_COUNT]);
    expect((await quiet).batches).toBeLessThan(50);
    expect(batches).toBe(200);
  });

  it('join a pass that started after their position once they have caught up with it', async () => {
    const { catchUp, passes } = world(LAST);
    const early = Promise.all(ENOUGH.map((partition) => takeAll(catchUp, partition, 16_000)));
    const LATE = PARTITION_COUNT - 1;
    expect(await catchUp.next(LATE, 1_600)).toBeUndefined();
    const late = takeAll(catchUp, LATE, 17_600);
    await settle();
    expect(await late).toEqual(expected(LATE, 17_600, LAST));
    await early;
    expect(passes).toEqual([16_000]);
  });

  it('stop waiting when they stop', async () => {
    const { catchUp } = world(LAST);
    const gathering = catchUp.next(0, 0);
    catchUp.leave(0);
    expect(await gathering).toBeUndefined();
    const first = PARTITIONS.map((partition) => catchUp.next(partition, 0));
    const last = (await first[0])?.at(-1)?.seq ?? 0;
    const inPass = catchUp.next(0, last);
    catchUp.leave(0);
    expect(await inPass).toBeUndefined();
  });

  it('read by themselves up to their last position after a failed commit has reset them', async () => {
    const { catchUp } = world(LAST);
    const first = PARTITIONS.map((partition) => catchUp.next(partition, 0));
    await jest.advanceTimersByTimeAsync(0);
    expect(seqsOf(await first[0])).toHaveLength(READ_BATCH);
    expect(await catchUp.next(0, 0)).toBeUndefined();
    const last = (await first[0])!.at(-1)!.seq;
    const rest = Promise.all(PARTITIONS.slice(1).map((partition) => takeAll(catchUp, partition, last)));
    const again = takeAll(catchUp, 0, last);
    await settle();
    expect(await again).toEqual(expected(0, last, LAST));
    await rest;
  });

  it('read by themselves after a failed pass', async () => {
    const warnings: unknown[] = [];
    const catchUp = new CatchUp({
      pass: async function* () {
        throw new Error('NATS is away');
      },
      owned: () => PARTITIONS,
      warn: (error) => warnings.push(error),
    });
    const asked = Promise.all(PARTITIONS.map((partition) => catchUp.next(partition, 0)));
    await settle();
    expect(new Set(await asked)).toEqual(new Set([undefined]));
    expect(warnings).toEqual([new Error('NATS is away')]);
  });
});
