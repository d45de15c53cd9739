import type { Fact } from '@fairlead/contracts';
import { isRefusal } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { node as nodeName, uid } from '../nodes/nodes.fixtures.js';
import { health, type ReportLost, type ReportRecovered } from './health.decider.js';
import { findingsOf, type WatchedNode } from './health.planner.js';

const SEEDS = 300;
const LIMIT_MS = 40_000;
const INTERVAL_MS = 10_000;
const SWEEP_MS = 1_000;
const LENGTH_MS = 20 * 60_000;
/** From a received heartbeat to the sweep that sees it. */
const SLACK_MS = SWEEP_MS;

interface World {
  /** When heartbeats arrive at the replicas, in order. */
  readonly arrivals: readonly number[];
  /** Periods in which the connection is away: nothing arrives, nothing may be concluded. */
  readonly deaf: readonly (readonly [fromMs: number, toMs: number])[];
}

const worldOf = (random: () => number): World => {
  const spans = (count: number, lengthMs: number) =>
    Array.from({ length: count }, () => {
      const from = random() * LENGTH_MS;
      return [from, from + random() * lengthMs] as const;
    });
  const deaf = spans(Math.floor(random() * 4), 3 * 60_000);
  const dead = spans(Math.floor(random() * 4), 4 * 60_000);
  const lossRate = random() * 0.5;
  const arrivals: number[] = [];
  for (let sentAt = 0; sentAt < LENGTH_MS; sentAt += INTERVAL_MS * (1 - 0.1 * random())) {
    const isDead = dead.some(([from, to]) => sentAt >= from && sentAt < to);
    const arrivesAt = sentAt + random() * random() * 5_000;
    const isMissed = deaf.some(([from, to]) => arrivesAt >= from && arrivesAt < to);
    if (!isDead && !isMissed && random() >= lossRate) arrivals.push(arrivesAt);
  }
  return { arrivals: arrivals.sort((a, b) => a - b), deaf };
};

/** Two replicas receive and sweep; ownership moves between them; each decides against the log, like `handle`. */
const run = (world: World, random: () => number) => {
  const log: (Fact<'NodeLost' | 'NodeRecovered'> & { atMs: number })[] = [];
  const decideBy = (command: ReportLost | ReportRecovered, atMs: number): void => {
    const state = log.reduce((before, fact, index) => health.evolve(before, stored(fact, index + 1)), health.initial);
    const outcome = health.decide(state, command);
    if (!isRefusal(outcome)) log.push(...outcome.map((fact) => ({ ...fact, atMs })));
  };
  const replicas = [0, 1].map(() => ({ next: 0, heardAtMs: undefined as number | undefined, expectedSinceMs: 0 }));
  let owner = 0;
  for (let nowMs = SWEEP_MS; nowMs < LENGTH_MS; nowMs += SWEEP_MS) {
    const deafNow = world.deaf.some(([from, to]) => nowMs >= from && nowMs < to);
    const sinceMs = deafNow
      ? undefined
      : Math.max(0, ...world.deaf.filter(([, to]) => to <= nowMs).map(([, to]) => to));
    for (const replica of replicas)
      for (let arrival = world.arrivals[replica.next]; arrival !== undefined && arrival <= nowMs;) {
        replica.heardAtMs = arrival;
        replica.next += 1;
        arrival = world.arrivals[replica.next];
      }
    if (random() < 0.002) {
      owner = 1 - owner;
      replicas[owner]!.expectedSinceMs = nowMs;
    }
    // Sometimes both believe that they own the node: the log decides.
    for (const index of random() < 0.1 ? [0, 1] : [owner]) {
      const { heardAtMs, expectedSinceMs } = replicas[index]!;
      const staleLost = log.at(-1)?.type === 'NodeLost' && random() > 0.3;
      const watched: WatchedNode = { key: 'w1', lost: staleLost, expectedSinceMs, heardAtMs };
      for (const { kind } of findingsOf([watched], { nowMs, sinceMs, limitMs: LIMIT_MS })) {
        const time = new Date(nowMs).toISOString();
        if (kind === 'lost')
          decideBy({ type: 'ReportLost', data: { uid, node: nodeName, lastSeenAt: time, limitMs: LIMIT_MS } }, nowMs);
        else decideBy({ type: 'ReportRecovered', data: { uid, node: nodeName, at: time } }, nowMs);
      }
    }
  }
  return log;
};

describe('lost, late or unreceived heartbeats', () => {
  it(`never make a node lost without a real silence, and each loss and each recovery is recorded once (${SEEDS} seeds)`, () => {
    let [losses, returns] = [0, 0];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      const world = worldOf(random);
      const log = run(world, random);
      const context = `seed ${seed}: ${JSON.stringify(log)}`;
      log.forEach(({ type, atMs }, index) => {
        // Strictly alternating, beginning with a loss.
        if (type !== (index % 2 === 0 ? 'NodeLost' : 'NodeRecovered')) throw new Error(context);
        const heard = world.arrivals.filter((at) => at <= atMs).at(-1) ?? 0;
        const isDeaf = world.deaf.some(([from, to]) => atMs - LIMIT_MS < to && atMs >= from);
        if (type === 'NodeLost' && (atMs - heard <= LIMIT_MS || isDeaf)) throw new Error(context);
        if (type === 'NodeRecovered' && atMs - heard > LIMIT_MS) throw new Error(context);
      });
      losses += log.filter(({ type }) => type === 'NodeLost').length;
      returns += log.length - log.filter(({ type }) => type === 'NodeLost').length;
    }
    // Checks that the seeds cover both.
    expect(losses).toBeGreaterThan(SEEDS / 2);
    expect(returns).toBeGreaterThan(SEEDS / 4);
  });

  it('make a node lost within the limit and a sweep when it dies permanently', () => {
    const world: World = { arrivals: [1_000, 11_000, 20_500], deaf: [] };
    const log = run(world, () => 0.99);
    expect(log.map(({ type }) => type)).toEqual(['NodeLost']);
    expect(log[0]!.atMs - 20_500).toBeLessThanOrEqual(LIMIT_MS + SLACK_MS);
  });
});
