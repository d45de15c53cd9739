import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { ConcurrencyGroups } from '../concurrency.groups.js';
import type { QueuedTask } from './decorators.js';
import { TaskQueue, type Attempted, type Pending } from './task.queue.js';

const CONSUMER = 'process:spec@1';
const OVER: Attempted = { kind: 'over' };
const again = (delayMs: number, more: Partial<Attempted> = {}): Attempted =>
  ({ kind: 'again', delayMs, failed: false, whenFreed: false, ...more }) as Attempted;

const task = (cluster: string, key: string, more: Partial<Pending> & { readonly id?: string } = {}): Pending => ({
  key,
  task: { id: more.id ?? `${cluster}/${key}`, namespace: 'default', cluster } as QueuedTask,
  groups: [],
  firstSeq: 1,
  seq: 1,
  failures: 0,
  ...more,
});

interface Running {
  readonly name: string;
  readonly failures: number;
  readonly signal: AbortSignal;
  readonly end: (attempted: Attempted) => Promise<void>;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const queueOf = (
  options: {
    readonly concurrency?: number;
    readonly groupLimit?: number;
    readonly load?: number;
    readonly attemptsMax?: number;
  } = {},
) => {
  const { concurrency = 100, groupLimit = 100, load = 0, attemptsMax = Infinity } = options;
  const began: string[] = [];
  const running: Running[] = [];
  let passedMs = 0;
  const pass = (ms: number): void => void (passedMs += ms);
  const queue = new TaskQueue({
    concurrency,
    nowMs: () => performance.now() + passedMs,
    groups: new ConcurrencyGroups(groupLimit),
    load: () => load,
    onWaiting: () => undefined,
    isGivenUp: (_job, failures) => failures >= attemptsMax,
    attempt: (task, failures, { signal }) =>
      new Promise((resolve) => {
        began.push(task.id);
        const end = async (attempted: Attempted): Promise<void> => {
          running.splice(running.indexOf(one), 1);
          resolve(attempted);
          await settled();
        };
        const one = { name: task.id, failures, signal, end };
        running.push(one);
      }),
  });
  const offer = (...tasks: readonly Pending[]): void =>
    queue.sync(CONSUMER, `default/${tasks[0]?.task.cluster}`, tasks);
  const end = async (name: string, attempted: Attempted = OVER): Promise<void> =>
    running.find((one) => one.name === name)?.end(attempted);
  return { queue, offer, began, running, end, pass };
};

describe('the queue of tasks', () => {
  it('runs a task once while it stays desired, and again once another event desires it', async () => {
    const { offer, began, end } = queueOf();
    offer(task('a', 'Join'));
    offer(task('a', 'Join'));
    await end('a/Join');
    offer(task('a', 'Join'));
    expect(began).toEqual(['a/Join']);
    offer(task('a', 'Join', { id: 'later' }));
    expect(began).toEqual(['a/Join', 'later']);
  });

  it('runs a task again that becomes desired again while it runs', async () => {
    const { offer, began, end } = queueOf();
    offer(task('a', 'Join'));
    offer(task('a', 'Join', { id: 'later' }));
    expect(began).toEqual(['a/Join']);
    await end('a/Join');
    expect(began).toEqual(['a/Join', 'later']);
  });

  it('drops a task that is withdrawn before it runs', async () => {
    const { queue, offer, began, end } = queueOf({ concurrency: 1 });
    offer(task('a', 'Join'));
    offer(task('b', 'Join'));
    queue.sync(CONSUMER, 'default/b', []);
    await end('a/Join');
    expect(began).toEqual(['a/Join']);
    expect(queue.counts).toEqual({ waiting: 0, running: 0 });
  });

  it('counts failures, and does not start again what another process abandoned', async () => {
    const { offer, running, began, end } = queueOf({ attemptsMax: 3 });
    offer(task('a', 'Join', { failures: 1 }));
    expect(running[0]?.failures).toBe(1);
    await end('a/Join', again(1, { failed: true }));
    await pause(20);
    expect(running[0]?.failures).toBe(2);
    offer(task('b', 'Join', { failures: 3 }));
    expect(began).toEqual(['a/Join', 'a/Join']);
  });

  it('calls a task that waits for another one of its cluster when that ends', async () => {
    const { offer, began, end } = queueOf();
    offer(task('a', 'Plan'), task('a', 'Ensure'));
    await end('a/Ensure', again(60_000, { whenFreed: true }));
    await end('a/Plan');
    expect(began).toEqual(['a/Plan', 'a/Ensure', 'a/Ensure']);
  });

  it('starts tasks of older clusters first, and every eighth by its waiting time', async () => {
    const { offer, began, end } = queueOf({ concurrency: 1 });
    offer(task('running', 'Join'));
    for (let index = 9; index > 0; index -= 1) offer(task(`c${index}`, 'Join', { firstSeq: index, seq: 100 - index }));
    for (let index = 0; index < 9; index += 1) await end(began.at(-1) ?? '');
    expect(began).toEqual(
      ['running', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c9', 'c7', 'c8'].map((name) => `${name}/Join`),
    );
  });

  it('starts no further cluster on a loaded machine while sixteen are in progress, and finishes those', async () => {
    const { queue, offer, began, end } = queueOf({ load: 1 });
    for (let index = 0; index < 30; index += 1) {
      queue.wasRequested(`default/c${index}`);
      offer(task(`c${index}`, 'Validate', { firstSeq: index + 1, seq: index + 1 }));
      await end(`c${index}/Validate`);
    }
    expect(new Set(began).size).toBe(16);
    queue.hasSettled('default/c0');
    await settled();
    expect(began.at(-1)).toBe('c16/Validate');
  });

  it('starts others in place of clusters without progress for two minutes, despite their attempts', async () => {
    const { queue, offer, began, end, pass } = queueOf({ load: 1 });
    for (let index = 0; index < 20; index += 1) {
      queue.wasRequested(`default/c${index}`);
      offer(task(`c${index}`, 'Validate', { firstSeq: index + 1, seq: index + 1 }));
      await end(`c${index}/Validate`);
    }
    expect(new Set(began).size).toBe(16);
    pass(100_000);
    for (let index = 0; index < 14; index += 1) queue.hasProgressed(`default/c${index}`);
    pass(100_000);
    // One starts every ten seconds at any load; two at once replace two others.
    await eventually(() => began.includes('c17/Validate'));
    await pause(60);
    expect(began).not.toContain('c18/Validate');
  });

  it('starts one after the other on an idle machine, until it is loaded', async () => {
    const { queue, offer, began } = queueOf();
    for (let index = 0; index < 30; index += 1) {
      queue.wasRequested(`default/c${index}`);
      offer(task(`c${index}`, 'Validate', { firstSeq: index + 1, seq: index + 1 }));
    }
    expect(began.length).toBeLessThan(30);
    await eventually(() => began.length === 30);
  });

  it('limits the concurrent tasks of a concurrency group, and runs others before those that wait for it', async () => {
    const { offer, began, end } = queueOf({ groupLimit: 1 });
    for (const cluster of ['a', 'b']) offer(task(cluster, 'Ensure', { groups: ['connection far'] }));
    offer(task('c', 'Ensure', { groups: ['connection near'] }));
    expect(began).toEqual(['a/Ensure', 'c/Ensure']);
    await end('a/Ensure');
    expect(began.at(-1)).toBe('b/Ensure');
  });

  it('drops the waiting tasks of a partition that another replica takes over, and aborts none', async () => {
    const { queue, offer, began, running, end } = queueOf({ concurrency: 1 });
    offer(task('a', 'Join'));
    offer(task('b', 'Join'));
    queue.release(() => true);
    expect(running[0]?.signal.aborted).toBe(false);
    await end('a/Join');
    expect(began).toEqual(['a/Join']);
  });

  it('aborts running tasks when the service stops, and starts none', async () => {
    const { queue, offer, began, running, end } = queueOf({ concurrency: 1 });
    offer(task('a', 'Join'));
    offer(task('b', 'Join'));
    const stopping = queue.stop();
    expect(running[0]?.signal.aborted).toBe(true);
    await end('a/Join');
    await stopping;
    expect(began).toEqual(['a/Join']);
  });
});
