import { ExternalFailure, type Cause, type ConnectionName } from '@fairlead/contracts';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NO_MEMORY, type Memory } from './comparison.planner.js';
import { ProviderWatch } from './watch.effects.js';

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 30_000;
const MINUTE_MS = 60_000;

type Look = (name: ConnectionName, before: Memory, signal: AbortSignal) => Promise<Memory>;

const counts = async () => ({ lost: 0, stopped: 0, orphans: 0 });

/** A replica whose checks run `look`, with a clock that the spec advances. */
const replica = (names: () => readonly string[], look: Look, leases: MemoryLeases, holder = 'a') => {
  const outcomes: Record<string, number> = {};
  const metrics = {
    addCounter:
      () =>
      ({ outcome }: Readonly<Record<string, string>>) => {
        outcomes[outcome!] = (outcomes[outcome!] ?? 0) + 1;
      },
    addGauge: () => undefined,
  };
  const settings = { watchIntervalMs: INTERVAL_MS, watchTimeoutMs: TIMEOUT_MS };
  const queries = { connections: async () => names() as readonly ConnectionName[], counts };
  const said: string[] = [];
  const answers = {
    missing: async (name: string, { message }: Cause) => void said.push(`${name}: ${message}`),
    given: async (name: string) => void said.push(name),
  };
  const watch = new ProviderWatch({ eye: { look }, answers, queries, leases: leases.of(holder), settings, metrics });
  watch.onApplicationBootstrap();
  return { watch, outcomes, said };
};

describe('checks of providers', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('continue for every other connection while one call hangs for 20 minutes [ORBITER 35]', async () => {
    const looks: Record<string, number> = {};
    let under = 0;
    const look: Look = async (name, before) => {
      looks[name] = (looks[name] ?? 0) + 1;
      if (name !== 'hung' || looks[name] > 1) return before;
      under += 1;
      // Ignores its abort, as a faulty client may.
      await new Promise((resolve) => setTimeout(resolve, 20 * MINUTE_MS));
      under -= 1;
      return before;
    };
    const others = Array.from({ length: 60 }, (_, at) => `other-${at}`);
    const { watch, outcomes } = replica(() => ['hung', ...others], look, new MemoryLeases());
    await jest.advanceTimersByTimeAsync(18 * MINUTE_MS);
    expect([looks['hung'], under]).toEqual([1, 1]);
    for (const name of others) expect(looks[name]).toBeGreaterThanOrEqual(15);
    expect(outcomes['unanswered']).toBeGreaterThanOrEqual(14);
    await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(looks['hung']).toBeGreaterThanOrEqual(2);
    await watch.beforeApplicationShutdown();
  });

  it('state that a provider has not responded twice in a row, and that it responds again', async () => {
    let calls = 0;
    const look: Look = async (_name, before) => {
      calls += 1;
      if (calls === 1 || (calls > 3 && calls < 8))
        throw new ExternalFailure({ operation: 'list machines', target: 'lab', message: 'no answer within 30 s' });
      return before;
    };
    const { watch, said } = replica(() => ['lab'], look, new MemoryLeases());
    await jest.advanceTimersByTimeAsync(12 * MINUTE_MS);
    const silent = 'lab: no answer within 30 s';
    expect(said.slice(0, 6)).toEqual(['lab', 'lab', silent, silent, silent, 'lab']);
    await watch.beforeApplicationShutdown();
  });

  it('continue although more connections hang than are checked concurrently', async () => {
    const looked = new Set<string>();
    const look: Look = async (name, before) => {
      looked.add(name);
      if (name.startsWith('hung')) await new Promise(() => undefined);
      return before;
    };
    const hung = Array.from({ length: 80 }, (_, at) => `hung-${at}`);
    const { watch } = replica(() => [...hung, 'well'], look, new MemoryLeases());
    await jest.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(looked.size).toBe(81);
    await watch.beforeApplicationShutdown();
  });

  it('are about an interval apart, and not all at the same time', async () => {
    const at: Record<string, number[]> = {};
    const look: Look = async (name, before) => {
      (at[name] ??= []).push(performance.now());
      return before;
    };
    const names = Array.from({ length: 30 }, (_, index) => `c-${index}`);
    const { watch } = replica(() => names, look, new MemoryLeases());
    await jest.advanceTimersByTimeAsync(30 * MINUTE_MS);
    for (const times of Object.values(at))
      for (const [index, time] of times.slice(1).entries()) {
        expect(time - times[index]!).toBeGreaterThanOrEqual(0.9 * INTERVAL_MS - 1);
        expect(time - times[index]!).toBeLessThanOrEqual(1.1 * INTERVAL_MS + 2_000);
      }
    expect(new Set(Object.values(at).map(([first]) => Math.round(first! / 1_000))).size).toBeGreaterThan(10);
    await watch.beforeApplicationShutdown();
  });

  it('are made by one replica at a time; another one takes over soon after it has died, without its memory', async () => {
    const leases = new MemoryLeases();
    const looks: string[] = [];
    const memories: Memory[] = [];
    const by =
      (holder: string): Look =>
      async (_name, before) => {
        looks.push(holder);
        memories.push(before);
        return new Map([['seen', holder]]);
      };
    const first = replica(() => ['lab'], by('a'), leases, 'a');
    await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
    const second = replica(() => ['lab'], by('b'), leases, 'b');
    await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(new Set(looks)).toEqual(new Set(['a']));
    leases.lose('a');
    leases.expire('a');
    await first.watch.beforeApplicationShutdown();
    const before = looks.length;
    await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(new Set(looks.slice(before))).toEqual(new Set(['b']));
    expect(memories[before]).toBe(NO_MEMORY);
    await second.watch.beforeApplicationShutdown();
  });

  it('forget their findings when the provider does not respond: a response before an outage confirms nothing after it', async () => {
    const memories: (Memory | 'outage')[] = [];
    let outage = false;
    const look: Look = async (_name, before) => {
      memories.push(outage ? 'outage' : before);
      if (outage) throw new Error('connect ECONNREFUSED');
      return new Map([['default/demo/a', 'gone']]);
    };
    const { watch, outcomes } = replica(() => ['lab'], look, new MemoryLeases());
    await jest.advanceTimersByTimeAsync(3 * MINUTE_MS);
    outage = true;
    await jest.advanceTimersByTimeAsync(3 * MINUTE_MS);
    outage = false;
    await jest.advanceTimersByTimeAsync(3 * MINUTE_MS);
    const after = memories.lastIndexOf('outage') + 1;
    expect(memories[after]).toBe(NO_MEMORY);
    expect(outcomes['failed']).toBeGreaterThanOrEqual(2);
    await watch.beforeApplicationShutdown();
  });

  it('end for a connection that is no longer registered and has no machines', async () => {
    let names = ['lab'];
    let looks = 0;
    const look: Look = async (_name, before) => {
      looks += 1;
      return before;
    };
    const leases = new MemoryLeases();
    const { watch } = replica(() => names, look, leases);
    await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
    names = [];
    await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
    const before = looks;
    await jest.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(looks).toBe(before);
    expect(await leases.of('a').held('watch')).toEqual([]);
    await watch.beforeApplicationShutdown();
  });
});
