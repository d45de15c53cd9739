import { beforeEach, describe, expect, it } from '@jest/globals';
import { TasksProgress } from './tasks.progress.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('the health of a service whose tasks', () => {
  let nowMs: number;
  let progress: TasksProgress;

  beforeEach(() => {
    nowMs = 0;
    progress = new TasksProgress(() => nowMs);
    progress.configured({ concurrency: 2, longestMs: HOUR_MS });
  });

  it('are none is ok, however long nothing ended', () => {
    nowMs = 24 * HOUR_MS;
    expect(progress.report()).toBe('ok');
  });

  it('arrive after a long idle time is ok until they have waited for 10 minutes', () => {
    nowMs = 24 * HOUR_MS;
    progress.waiting(3);
    expect(progress.report()).toBe('ok');
    nowMs += 10 * MINUTE_MS - 1;
    progress.waiting(5);
    expect(progress.report()).toBe('ok');
    nowMs += 1;
    expect(progress.report()).toBe('no task has ended for 10 min although tasks wait, and none of them was taken');
  });

  it('hang in every slot is not ok while others wait, and names the longest [ORBITER 32]', () => {
    progress.began('a', 'EnsureMachines of default/demo', HOUR_MS);
    nowMs += MINUTE_MS;
    progress.began('b', 'DeleteMachine of default/other', HOUR_MS);
    nowMs += 9 * MINUTE_MS;
    expect(progress.report()).toBe('ok');
    progress.waiting(1);
    nowMs += 10 * MINUTE_MS;
    expect(progress.report()).toMatch(/all 2 places are taken, for 20 min by EnsureMachines of default\/demo/);
    progress.ended('b', 'done');
    expect(progress.report()).toBe('ok');
  });

  it('take long within their timeouts is ok while none waits', () => {
    progress.began('a', 'RollOut of default/demo', HOUR_MS);
    nowMs += HOUR_MS;
    expect(progress.report()).toBe('ok');
    nowMs += 10 * MINUTE_MS;
    expect(progress.report()).toBe('RollOut of default/demo has not ended 10 min after its time limit');
  });

  it('wait by design, for a delay, a gate or the next attempt, is ok', () => {
    for (let minute = 0; minute < 600; minute += 1) {
      progress.began('a', 'Gate of default/demo', HOUR_MS);
      progress.ended('a', 'requeued');
      progress.waiting(0);
      nowMs += MINUTE_MS;
    }
    expect(progress.report()).toBe('ok');
  });

  it('wait for leases that no task can still hold is not ok', () => {
    const bounce = (forMs: number): void => {
      const until = nowMs + forMs;
      while (nowMs < until) {
        progress.began('a', 'JoinWorker of default/demo', HOUR_MS);
        progress.ended('a', 'requeued', true);
        nowMs += MINUTE_MS;
      }
    };
    bounce(HOUR_MS);
    expect(progress.report()).toBe('ok');
    bounce(11 * MINUTE_MS);
    expect(progress.report()).toBe('tasks have waited 71 min for leases, longer than any task may take');
    progress.began('a', 'JoinWorker of default/demo', HOUR_MS);
    progress.ended('a', 'done');
    expect(progress.report()).toBe('ok');
  });

  it('hang in the slots of one group is ok while others end, and reports what waits for it', () => {
    const groups = ['connection lab'];
    progress.began('a', 'EnsureMachines of default/demo', HOUR_MS, groups);
    nowMs += MINUTE_MS;
    progress.began('b', 'EnsureMachines of default/other', HOUR_MS, groups);
    progress.waitingForGroups(new Map([['connection lab', 3]]));
    expect(progress.waits()).toEqual([]);
    nowMs += 20 * MINUTE_MS;
    expect(progress.report()).toBe('ok');
    expect(progress.waits()).toEqual([
      '3 tasks wait for connection lab since 20 min: its 2 places are taken, for 21 min by EnsureMachines of default/demo',
    ]);
    progress.ended('a', 'failed');
    progress.waitingForGroups(new Map());
    expect(progress.waits()).toEqual([]);
  });
});
