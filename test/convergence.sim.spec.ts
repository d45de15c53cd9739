import type { StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { Course, type Seen } from './growth/growth.course.js';

/** For every `npm test`, which runs fewer seeds of other simulations. */
const SEEDS = Number(process.env['SIM_SEEDS_CONVERGENCE'] ?? process.env['SIM_SEEDS'] ?? 100);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Takes seconds on an idle machine; long enough for a loaded one. */
const LIMIT_MS = 600_000;
const STEPS = 16;

const namesIn = (events: readonly StoredEvent[]) => ({
  made: events.flatMap((event) => (event.type === 'VmsPlanned' ? event.data.machines.map(({ name }) => name) : [])),
  gone: events.flatMap((event) => (event.type === 'VmDeleted' ? [event.data.name] : [])),
});

describe('a cluster whose manifest changes at random, while machines, nodes, hosts and services fail and are repaired', () => {
  it(
    `ends as declared, with at most as many nodes missing as allowed and the quorum of etcd after every event, without oscillation, and every machine comes and goes for a cause that leads to a request (${SEEDS} seeds) [ORBITER 3, ORBITER 20, Cluster API 22, Cluster API 25, Cluster API 35]`,
    () => {
      const seen: Seen = {};
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        try {
          const course = new Course(seed, seen);
          const { world } = course;
          for (let step = 0; step < STEPS; step += 1) course.step();
          seen['crashed'] = (seen['crashed'] ?? 0) + world.crashes;
          course.settle();
          course.expectAsDeclared();
          course.expectAsWanted();
          const quiet = world.events.length;
          world.run();
          expect(world.events.length).toBe(quiet);
          // Without faults, no machine is created only to be deleted, and none is deleted twice.
          if (!course.apply()) throw new Error('a manifest was refused although nothing is under way');
          world.run();
          course.expectAsDeclared();
          const { made, gone } = namesIn(world.events.slice(quiet));
          expect(made.filter((name) => gone.includes(name))).toEqual([]);
          expect(new Set(gone).size).toBe(gone.length);
        } catch (error) {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
      }
      // A single seed reproduces an earlier failure.
      if (SEEDS === 1) return;
      for (const step of ['applied', 'scaled', 'refused', 'failed', 'lost', 'replaced', 'crashed'])
        expect([step, (seen[step] ?? 0) > SEEDS / 5]).toEqual([step, true]);
      expect(seen['stated'] ?? 0).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
