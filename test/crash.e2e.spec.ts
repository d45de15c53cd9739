import { clusterFilter, type StoredEvent } from '@fairlead/contracts';
import { makeTail } from '@fairlead/event-sourcing/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { outcome } from './crash/outcome.js';
import { sampleOf, seedOfDay } from './crash/sample.js';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const CREATE_TIMEOUT_MS = 120_000;

const ALL = process.env['FAIRLEAD_CRASH'] === 'all';
/**
 * Kills each service at this many events: `test/crash.sim.spec.ts` kills at all of them, and so does `npm run test:all`
 * for real.
 */
const SAMPLED = ALL ? Infinity : 2;
const SEED = Number(process.env['FAIRLEAD_SEED'] ?? seedOfDay(new Date()));
/** How long a service that catches up is stopped. */
const AWAY_MS = ALL ? 60_000 : 10_000;

const ready = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';

describe('a create in which services are killed', () => {
  let system: System;
  let undisturbed: readonly string[];

  const create = async (name: string): Promise<void> => {
    const body = clusterBody(name, { controlPlanes: 3, workers: 2 });
    const answer = await whileRefused(() =>
      system.call('POST', '/ns/default/clusters', body, { 'idempotency-key': name }),
    );
    expect([name, answer.status]).toEqual([name, 202]);
  };
  const finished = async (name: string): Promise<StoredEvent[]> => {
    const end = await system.until(name, ready, CREATE_TIMEOUT_MS);
    // Agents' later reports, after their permission to change has ended, arrive at any time.
    const events = (await system.events(name)).filter(({ meta }) => meta.seq <= end.meta.seq);
    if (end.type !== 'ClusterReady') throw new Error(`${name} failed: ${JSON.stringify(end.data)}`);
    return events;
  };

  beforeAll(async () => {
    process.stdout.write(
      `services are killed at ${ALL ? 'every event' : `a sample; FAIRLEAD_SEED=${SEED} repeats it`}\n`,
    );
    system = await startSystem({ light: true });
    await create('undisturbed');
    undisturbed = outcome(await finished('undisturbed'), 'undisturbed');
  }, CREATE_TIMEOUT_MS + 60_000);

  afterAll(() => system?.stop(), 60_000);

  it.each(SERVICE_NAMES)(
    `ends the same when %s is killed at ${ALL ? 'every event' : 'events'} of it (seed ${SEED})`,
    async (service) => {
      const before = (await system.made())['machine'] ?? 0;
      const boundaries = sampleOf(undisturbed.length, { seed: SEED, name: service, count: SAMPLED });
      for (const boundary of boundaries) {
        const name = `kill-${service.split('-')[0]}-${boundary}`;
        await create(name);
        await killAt(system, name, boundary, service);
        const events = await finished(name);
        expect([name, outcome(events, name)]).toEqual([name, undisturbed]);
        const made = events.filter(({ type }) => type === 'VmCreated');
        expect([name, made.length]).toEqual([name, 5]);
      }
      expect((await system.made())['machine']).toBe(before + 5 * boundaries.length);
    },
    45 * 60_000,
  );

  it(
    'finishes without intervention when NATS, and then PostgreSQL, is killed and restarted in the middle',
    async () => {
      await create('no-nats');
      await system.until('no-nats', ({ type }) => type === 'VmsCreated', CREATE_TIMEOUT_MS);
      await system.environment.killNats();
      await system.environment.startNats();
      expect(outcome(await finished('no-nats'), 'no-nats')).toEqual(undisturbed);
      await create('no-database');
      await system.until('no-database', ({ type }) => type === 'VmsCreated', CREATE_TIMEOUT_MS);
      await system.environment.killPostgres();
      await system.environment.startPostgres();
      expect(outcome(await finished('no-database'), 'no-database')).toEqual(undisturbed);
    },
    4 * CREATE_TIMEOUT_MS,
  );

  it(
    'continues with one service stopped, which catches up when it is back',
    async () => {
      await system.supervisor.hold('upgrade-svc');
      await create('late');
      await system.until('late', ({ type }) => type === 'LoadBalancerReady', CREATE_TIMEOUT_MS);
      await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
      expect((await system.events('late')).some(({ type }) => type === 'DesiredVersionsSet')).toBe(false);
      expect((await system.call('GET', '/ns/default/clusters/late')).status).toBe(200);
      await system.supervisor.resume('upgrade-svc');
      expect(outcome(await finished('late'), 'late')).toEqual(undisturbed);
    },
    AWAY_MS + 2 * CREATE_TIMEOUT_MS,
  );
});

/** Like a client during a restart of the gateway: retries with the same key. */
const whileRefused = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};

/** Kills the service as soon as the cluster has this many relevant facts. */
const killAt = async (
  system: System,
  cluster: string,
  boundary: number,
  service: (typeof SERVICE_NAMES)[number],
): Promise<void> => {
  let seen = 0;
  for await (const event of makeTail(system.admin)(
    clusterFilter('default', cluster),
    0,
    AbortSignal.timeout(CREATE_TIMEOUT_MS),
  )) {
    seen += 1;
    if (seen < boundary && !ready(event)) continue;
    system.kill(service);
    return;
  }
};
