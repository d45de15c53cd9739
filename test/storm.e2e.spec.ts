import { setTimeout as sleep } from 'node:timers/promises';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from './system/fleet.js';
import { startSystem, type System } from './system/system.js';

const AGENTS = 120;
const HEARTBEAT_MS = 2_500;
const LOST_AFTER_MS = 12_000;
const AWAY_MS = 18_000;
const TIMEOUT_MS = 180_000;

describe('agents that all reconnect at once', () => {
  let system: System;
  let fleet: Fleet;

  beforeAll(async () => {
    system = await startSystem({ light: true, env: { NODE_LOST_AFTER_MS: String(LOST_AFTER_MS) } });
    fleet = await Fleet.of(system, { agents: AGENTS, heartbeatMs: HEARTBEAT_MS });
  }, TIMEOUT_MS);

  afterAll(async () => {
    await fleet?.stop();
    await system?.stop();
  });

  it(
    "are answered, and no node is reported lost that was silent only because of NATS' outage; the one that died meanwhile is",
    async () => {
      await system.environment.killNats();
      fleet.forget();
      const dead = await fleet.end(7);
      await sleep(AWAY_MS);
      const backAtMs = performance.now();
      await system.environment.startNats();
      await ensureStreams(await system.environment.connect()); // Like `fairlead up`: streams in memory are gone.
      expect(await fleet.returned(backAtMs, TIMEOUT_MS / 2)).toHaveLength(AGENTS - 1);
      await eventually(async () => (await fleet.lost()).includes(dead), { withinMs: 4 * LOST_AFTER_MS, everyMs: 500 });
      await sleep(LOST_AFTER_MS); // Any other node silent since NATS returned would be reported lost by now.
      expect(await fleet.lost()).toEqual([dead]);
    },
    TIMEOUT_MS,
  );
});
