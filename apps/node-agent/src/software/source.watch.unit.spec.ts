import { describe, expect, it } from '@jest/globals';
import type { Metronome } from '../time/metronome.js';
import { SourceWatch, type Source } from './source.watch.js';

/** A clock that the spec advances. */
const timeOf = () => {
  const due: { readonly ms: number; readonly task: () => void }[] = [];
  const after = (ms: number, task: () => void): (() => void) => {
    const one = { ms, task };
    due.push(one);
    return () => void due.splice(due.indexOf(one), 1);
  };
  const next = async (): Promise<number> => {
    const one = due.shift();
    one?.task();
    await new Promise((resolve) => setImmediate(resolve));
    return one?.ms ?? -1;
  };
  return { metronome: { after } as unknown as Metronome, next, waiting: () => due.length };
};

const AT = '2026-11-22T10:00:00.000Z';

const watched = (releases: Source['releases']) => {
  const time = timeOf();
  const watch = new SourceWatch({
    source: { address: 'http://mirror/', releases },
    metronome: time.metronome,
    clock: { now: () => new Date(AT) },
    random: () => 0,
  });
  watch.start();
  return { ...time, watch };
};

describe('the source of software', () => {
  it('is checked shortly after the start, and then periodically', async () => {
    const { next, watch } = watched(async () => ['v1.33.13', 'v1.34.4']);
    expect(watch.last).toBeUndefined();
    expect(await next()).toBe(15_000);
    expect(watch.last).toEqual({
      at: AT,
      address: 'http://mirror/',
      failure: null,
      releases: ['v1.33.13', 'v1.34.4'],
    });
    expect(await next()).toBe(10 * 60_000);
  });

  it('is checked every minute while it fails, with its error reported', async () => {
    let isDown = true;
    const { next, watch } = watched(async () => {
      if (isDown) throw new Error('connection refused');
      return null;
    });
    await next();
    expect(watch.last).toMatchObject({ failure: 'connection refused', releases: null });
    isDown = false;
    expect(await next()).toBe(60_000);
    expect(watch.last).toMatchObject({ failure: null, releases: null });
    expect(await next()).toBe(10 * 60_000);
  });

  it('is no longer checked after the agent stops', async () => {
    const { next, watch, waiting } = watched(async () => null);
    await next();
    watch.stop();
    expect(waiting()).toBe(0);
  });
});
