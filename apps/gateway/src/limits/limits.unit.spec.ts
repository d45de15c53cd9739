import { describe, expect, it } from '@jest/globals';
import { readSettings } from '../config.js';
import type { Identity } from '../access/identity.js';
import type { Recording } from '../http/documented.js';
import { begins, bytesText, roomBytes } from './disk.rules.js';
import { costOf, fullAfterMs, isChange, leftOf, spend, waitOf, type Rate } from './rates.rules.js';
import { RequestLimits } from './request.limits.js';
import { TokenSlots } from './token.slots.js';

const RATE: Rate = { perSecond: 2, burst: 10 };

describe('a bucket', () => {
  it('lets its burst pass, then as many as flow in', () => {
    const empty = spend(undefined, RATE, 10, 1_000);
    expect([leftOf(undefined, RATE, 0), leftOf(empty, RATE, 1_000)]).toEqual([10, 0]);
    expect(waitOf(empty, RATE, 1, 1_000)).toBe(500);
    expect(waitOf(empty, RATE, 1, 1_500)).toBe(0);
    expect(leftOf(empty, RATE, 60_000)).toBe(10);
    expect(fullAfterMs(RATE)).toBe(5_000);
  });

  it('gains nothing from a clock that goes back', () => {
    const half = spend(undefined, RATE, 5, 10_000);
    expect(leftOf(half, RATE, 1)).toBe(5);
  });

  it('lets even what costs more than all of it pass when it is full', () => {
    expect(waitOf(undefined, RATE, 99, 0)).toBe(0);
    expect(waitOf(spend(undefined, RATE, 99, 0), RATE, 99, 0)).toBe(5_000);
  });
});

describe('a request', () => {
  it('changes something unless its route records nothing', () => {
    const asked = (records: Recording) => isChange({ records });
    expect([asked('nothing'), asked('access'), asked('work'), asked('end')]).toEqual([false, true, true, true]);
  });

  it('costs more with a larger body, and the most with one of unknown length', () => {
    const cost = (bodyBytes: number | undefined) => costOf({ records: 'work', bodyBytes });
    expect([cost(0), cost(500), cost(16_385), cost(262_144), cost(undefined)]).toEqual([1, 1, 2, 16, 16]);
    expect(costOf({ records: 'nothing', bodyBytes: undefined })).toBe(1);
  });
});

describe('the default limits', () => {
  const { limits, disk } = readSettings({});

  it('let a token ask for a thousand clusters at once, and bound what it adds in the long run', () => {
    const now = () => new Date(0);
    const requests = new RequestLimits({ limits }, { now });
    const identity = {
      tokenId: 't',
      actor: 'user/t',
      roles: [{ namespace: 'n', role: 'operator' }],
    } as unknown as Identity;
    const create = () => requests.take(identity, 'n', { records: 'work', bodyBytes: 600 });
    for (let index = 0; index < limits.tokenChanges.burst; index += 1) create();
    expect(limits.tokenChanges.burst).toBeGreaterThanOrEqual(5_000);
    expect(create).toThrow('more changes than 20 per second');
  });

  it('let no single token use up its namespace', () => {
    expect(limits.namespaceChanges.burst).toBeGreaterThanOrEqual(2 * limits.tokenChanges.burst);
    expect(limits.namespaceChanges.perSecond).toBeGreaterThanOrEqual(2 * limits.tokenChanges.perSecond);
    expect(limits.namespaceReads.perSecond).toBeGreaterThanOrEqual(2 * limits.tokenReads.perSecond);
  });

  it('are refused in a sentence when they cannot be read', () => {
    expect(disk.reserveBytes).toBe(1024 ** 3);
    for (const text of ['20', '0/5', '5/0', 'a/b', '-1/5'])
      expect(() => readSettings({ TOKEN_CHANGES_LIMIT: text })).toThrow(/TOKEN_CHANGES_LIMIT: .*not a limit like/);
  });
});

describe('what a token may have at once', () => {
  it('is forgotten when it is over', () => {
    const slots = new TokenSlots({ limits: { ...readSettings({}).limits, tokenStreams: 1 } });
    const ends: (() => void)[] = [];
    const response = { once: (_event: string, end: () => void) => ends.push(end) } as never;
    slots.take('streams', 'a', response);
    expect(() => slots.take('streams', 'a', response)).toThrow('1 open event streams');
    slots.take('streams', 'b', response);
    slots.take('waits', 'a', response);
    ends.shift()?.();
    slots.take('streams', 'a', response);
    for (const end of ends) end();
    expect(Reflect.get(slots, 'taken')).toEqual(new Map());
  });
});

describe('the room that is left to the log', () => {
  it('is the least of what is known', () => {
    const none = { account: undefined, server: undefined, diskFreeBytes: undefined };
    const unlimited = { usedBytes: 5, maxBytes: undefined };
    expect(roomBytes(none)).toBeUndefined();
    expect(roomBytes({ ...none, account: unlimited })).toBeUndefined();
    expect(roomBytes({ account: unlimited, server: { usedBytes: 5, maxBytes: 8 }, diskFreeBytes: 7 })).toBe(3);
    expect(roomBytes({ account: { usedBytes: 9, maxBytes: 8 }, server: undefined, diskFreeBytes: 7 })).toBe(0);
    expect([bytesText(0), bytesText(1023), bytesText(1536), bytesText(24 * 1024 ** 2)]).toEqual([
      '0 bytes',
      '1023 bytes',
      '1.5 KiB',
      '24.0 MiB',
    ]);
  });

  it('is kept for what has begun: reads, deletions, pauses and aborts go on', () => {
    const recordings: readonly Recording[] = ['nothing', 'access', 'work', 'end'];
    expect(recordings.filter(begins)).toEqual(['work']);
  });
});
