import { describe, expect, it } from '@jest/globals';
import { storedSubject } from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { headers, type Msg } from '@nats-io/transport-node';
import type { RawEvent } from './direct.reader.js';
import { LogFeed } from './log.feed.js';
import { LogLook } from './log.look.js';
import { PartitionFeed } from './partition.feed.js';
import { RecentEntries } from './recent.entries.js';

const PARTITION = 3;
const LIMIT = 4;
const messageOf = (seq: number, partition = PARTITION): RawEvent => ({
  subject: `evt.${partition}.default.demo.request.ClusterRequested`,
  seq,
  bytes: new Uint8Array(),
});

/** A log, its pushes over a connection that loses messages, and a replica for reads that may lag. */
class World {
  readonly taken: number[] = [];
  readonly feed: LogFeed;
  readonly recent = new RecentEntries();
  private readonly log: RawEvent[] = [];
  private callback: (error: null, message: Msg) => void = () => undefined;
  private readable = 0;
  private partition: PartitionFeed;
  private mustRead = true;

  constructor(private readonly random: () => number) {
    this.feed = new LogFeed({
      nc: { subscribe: (_subject: string, { callback }: { callback: never }) => (this.callback = callback) } as never,
      onMessage: (partition, message, from) => {
        this.recent.push(message, from);
        if (partition === PARTITION) this.partition.push(message, from);
      },
      onGap: () => (this.mustRead = true),
    });
    this.feed.start();
    this.partition = new PartitionFeed(this.feed.next);
  }

  append(lost: boolean): void {
    const message = messageOf(this.log.length + 1, this.random() < 0.5 ? PARTITION : 5);
    this.log.push(message);
    if (!lost) this.deliver(message);
  }

  deliver({ seq, subject }: RawEvent): void {
    const header = headers();
    header.set('Nats-Subject', subject);
    header.set('Nats-Sequence', String(seq));
    this.callback(null, { subject: storedSubject(subject), headers: header, data: new Uint8Array() } as Msg);
  }

  /** Like the consumer; true: messages were taken. */
  step(): boolean {
    const pushed = this.mustRead ? undefined : this.partition.take(LIMIT);
    this.mustRead = false;
    const next = pushed ?? this.read();
    this.taken.push(...next.map(({ seq }) => seq));
    return next.length > 0;
  }

  private read(): RawEvent[] {
    const after = this.taken.at(-1) ?? 0;
    const found = this.log
      .slice(0, this.readable)
      .filter(({ subject, seq }) => subject === messageOf(0).subject && seq > after)
      .slice(0, LIMIT);
    this.partition.readTo(found.at(-1)?.seq ?? after, found.length < LIMIT);
    return found;
  }

  catchUpReplica(to = this.log.length): void {
    this.readable = Math.max(this.readable, to);
  }

  /** A partially applied batch, or a failed commit. */
  goBack(): void {
    this.taken.splice(-Math.ceil(this.random() * LIMIT));
    this.partition.forget();
    this.mustRead = true;
  }

  look(): void {
    this.mustRead = true;
  }

  /** The messages of the partition after a sequence, as far as they were pushed; undefined: they must be read. */
  recentAfter(seq: number): readonly number[] | undefined {
    return this.recent.after(`evt.${PARTITION}.default.demo.>`, seq)?.map((entry) => entry.seq);
  }

  /** All of them, up to the newest pushed message. */
  pushedAfter(seq: number): readonly number[] {
    return this.all.filter((one) => one > seq && one <= this.feed.last);
  }

  get all(): readonly number[] {
    return this.log.filter(({ subject }) => subject === messageOf(0).subject).map(({ seq }) => seq);
  }

  /** Whether the taken messages are a prefix of all. */
  isInOrder(): boolean {
    const { all } = this;
    return this.taken.every((seq, index) => seq === all[index]);
  }

  get isAhead(): boolean {
    return this.partition.isAhead();
  }
}

describe('the pushed messages of a partition', () => {
  it.each(Array.from({ length: 200 }, (_, seed) => seed))(
    'and the read ones together are every message once and in order, whatever is lost and however far the replica lags (seed %i)',
    (seed) => {
      const random = seededRandom(seed);
      const world = new World(random);
      const lossy = random() < 0.5 ? 0.1 : 0;
      for (let step = 0; step < 400; step += 1) {
        const dice = random();
        if (dice < 0.5) world.append(random() < lossy);
        else if (dice < 0.8) world.step();
        else if (dice < 0.9) world.catchUpReplica(Math.floor(random() * (world.all.at(-1) ?? 0)));
        else if (dice < 0.95) world.goBack();
        else world.look();
        // Compared here and not by an expectation, which takes a hundred times as long.
        if (!world.isInOrder()) expect(world.taken).toEqual(world.all.slice(0, world.taken.length));
      }
      world.catchUpReplica();
      world.look();
      while (world.step()) world.look();
      expect(world.taken).toEqual(world.all);
      const after = Math.floor(random() * world.feed.last);
      expect(world.recentAfter(after) ?? world.pushedAfter(after)).toEqual(world.pushedAfter(after));
    },
  );

  it('need no read of the log while nothing is lost', () => {
    const world = new World(() => 0);
    world.append(false);
    world.catchUpReplica();
    world.step();
    // The replica gets nothing more: only pushed messages can be taken.
    for (let count = 0; count < 50; count += 1) {
      world.append(false);
      world.step();
    }
    expect(world.taken).toEqual(world.all);
    expect(world.isAhead).toBe(false);
  });

  it('cause another read if they show that the previous one lagged', () => {
    const world = new World(() => 0);
    world.append(true);
    world.append(false);
    world.step();
    expect([world.taken, world.isAhead]).toEqual([[], true]);
    world.catchUpReplica();
    world.look();
    world.step();
    expect([world.taken, world.isAhead]).toEqual([[1, 2], false]);
  });

  it('are read to the end of the log, batch by batch, after a start or a disconnection', () => {
    const world = new World(() => 0);
    for (let count = 0; count < 3 * LIMIT + 1; count += 1) world.append(true);
    world.catchUpReplica();
    while (world.step());
    expect(world.taken).toEqual(world.all);
  });

  it('are taken once, even if the server repeats them', () => {
    const world = new World(() => 0);
    world.append(false);
    world.catchUpReplica();
    world.step();
    world.append(false);
    world.deliver(messageOf(2));
    world.deliver(messageOf(1));
    world.step();
    world.step();
    expect(world.taken).toEqual([1, 2]);
  });

  it('are bounded: a consumer that lags too far reads the log', () => {
    const feed = new PartitionFeed(1);
    feed.readTo(0, true);
    for (let seq = 1; seq <= 1_001; seq += 1) feed.push(messageOf(seq), 1);
    expect(feed.take(10)).toBeUndefined();
    feed.readTo(1_001, true);
    feed.push(messageOf(1_002), 1);
    expect(feed.take(10)?.map(({ seq }) => seq)).toEqual([1_002]);
  });
});

describe('decisions', () => {
  it('find here what was pushed since the last one, and read the rest', () => {
    const world = new World(() => 0);
    for (let count = 0; count < 3; count += 1) world.append(false);
    expect([world.recentAfter(1), world.recentAfter(3)]).toEqual([[2, 3], []]);
    world.append(true);
    world.append(false);
    expect([world.recentAfter(3), world.recentAfter(4)]).toEqual([undefined, [5]]);
    world.recent.forget();
    expect(world.recentAfter(5)).toBeUndefined();
  });

  it('read while this process knows of newer events than it was pushed', async () => {
    const world = new World(() => 0);
    world.append(false);
    world.recent.knownUpTo(2);
    expect(world.recentAfter(1)).toBeUndefined();
    world.append(false);
    expect(world.recentAfter(1)).toEqual([2]);
    const conflict = { append: () => Promise.resolve({ kind: 'conflict' }) } as never;
    await world.recent.over(conflict).append({} as never, {} as never, [], {} as never);
    expect(world.recentAfter(1)).toBeUndefined();
  });

  it('read what is too old to be kept', () => {
    const world = new World(() => 0);
    for (let count = 0; count < 2_001; count += 1) world.append(false);
    expect(world.recentAfter(1)).toBeUndefined();
    expect(world.recentAfter(1_999)).toEqual([2_000, 2_001]);
  });
});

describe('the check of the log', () => {
  /** A log of which nothing after `pushed` was pushed, one partition at `position`, and what decisions learn. */
  const lookAt = (log: readonly number[], pushed: number, position = pushed) => {
    const calls: string[] = [];
    const recent = new RecentEntries();
    let lastPushed = 0;
    const push = (seq: number): void => {
      lastPushed = seq;
      recent.push(messageOf(seq), 1);
    };
    for (const seq of log.filter((one) => one <= pushed)) push(seq);
    const consumer = {
      position: () => position,
      look: () => void calls.push('look'),
      lookIfAhead: () => void calls.push('look if ahead'),
    };
    const asked: number[] = [];
    const look = new LogLook({
      lastPushed: () => lastPushed,
      partitions: () => [consumer],
      nextAfter: (seq) => {
        asked.push(seq);
        return Promise.resolve(log.find((one) => one > seq));
      },
      onKnown: (seq) => recent.knownUpTo(seq),
      warn: (message) => void calls.push(message),
    });
    const found = () => recent.after(`evt.${PARTITION}.default.demo.>`, 0)?.map(({ seq }) => seq);
    return { look, calls, asked, push, found };
  };

  it('finds an event whose push was lost: partitions read the log, and so does the next decision', async () => {
    const { look, calls, asked, found } = lookAt([1, 2, 3, 4], 2);
    expect(found()).toEqual([1, 2]);
    await look.look();
    expect([calls, asked]).toEqual([['look if ahead', 'look'], [2]]);
    expect(found()).toBeUndefined();
    // What was found is not found again; what follows is.
    for (let looks = 0; looks < 3; looks += 1) await look.look();
    expect(asked).toEqual([2, 3, 4, 4]);
    // Twice each, because the replica of the stream that is read may lag.
    expect(calls).toEqual(['look if ahead', 'look', 'look', 'look', 'look', 'look if ahead']);
  });

  it('makes partitions read once more after a gap, because the replica of the stream that is read may lag', async () => {
    const { look, calls } = lookAt([1, 2], 2);
    look.lookOnceMore();
    await look.look();
    await look.look();
    expect(calls).toEqual(['look', 'look if ahead']);
  });

  it('causes no reads by partitions while everything is pushed', async () => {
    const { look, calls, found } = lookAt([1, 2], 2);
    await look.look();
    expect([calls, found()]).toEqual([['look if ahead'], [1, 2]]);
  });

  it('causes no reads by partitions for an event that is pushed while the log is queried', async () => {
    const { look, calls, push, found } = lookAt([1, 2, 3], 2);
    const looking = look.look();
    push(3);
    await looking;
    expect([calls, found()]).toEqual([['look if ahead'], [1, 2, 3]]);
  });

  it('ends once the partitions have caught up, however much was not pushed', async () => {
    const { look, asked } = lookAt([1, 2, 3, 4, 5], 1, 5);
    await look.look();
    await look.look();
    expect(asked).toEqual([1, 5]);
  });

  it('is repeated if the log is unreachable', async () => {
    const calls: string[] = [];
    const look = new LogLook({
      lastPushed: () => 0,
      partitions: () => [],
      nextAfter: () => (calls.length === 0 ? Promise.reject(new Error('timeout')) : Promise.resolve(1)),
      onKnown: (seq) => void calls.push(`known up to ${seq}`),
      warn: (message) => void calls.push(message),
    });
    await look.look();
    await look.look();
    expect(calls).toEqual(['the log was not looked at: timeout; trying again', 'known up to 1']);
  });
});
