import { describe, expect, it } from '@jest/globals';
import { CrashWorld, SERVICES, type Kill, type Service } from './crash/crash.world.js';
import { outcome } from './crash/outcome.js';

/** A hundred seeds of other simulations are one order of the services here; with fewer than 25 each service leaves some events out, and not the same. */
const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const ROUNDS = Math.ceil(SEEDS / 100);
const EVERY = SEEDS >= 25 ? 1 : Math.ceil(25 / SEEDS);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
const LIMIT_MS = 600_000;
const MOMENTS = ['before', 'after'] as const;
const MACHINES = 5;

const told = async (seed: number, kill?: Kill): Promise<CrashWorld> => {
  const world = new CrashWorld(seed, kill);
  try {
    await world.run();
    return world;
  } catch (error) {
    throw new Error(nameOf(seed, world, kill), { cause: error });
  }
};

/** A failing seed is a named story: who was killed, when, and what happened. */
const nameOf = (seed: number, world: CrashWorld, kill?: Kill): string => {
  const killed =
    kill === undefined ? 'nobody is killed' : `${kill.service} is killed ${kill.when} event ${kill.boundary}`;
  const events = world.log.events.map(({ meta, type }) => `${meta.context} ${type}`);
  return `seed ${seed}, ${killed}\n  ${events.join('\n  ')}`;
};

const outcomeOf = (world: CrashWorld): readonly string[] => outcome(world.events, 'demo');

/** What must hold at the end, whatever was killed. */
const expectWhole = async (world: CrashWorld): Promise<void> => {
  expect(world.count('VmCreated')).toBe(MACHINES);
  expect([...world.cloud.creations].filter(([, times]) => times !== 1)).toEqual([]);
  const { violations, inits, joins } = world.bootstrap.world;
  expect([violations, inits.length, joins.length]).toEqual([[], 1, MACHINES - 1]);
  expect([world.cloud.machines.size, world.cloud.balancers.size]).toEqual([0, 0]);
  expect([...world.bootstrap.secrets.values.keys()]).toEqual(['infra-svc.ssh-key.lab']);
  for (const [name, program] of Object.entries(world.programs)) {
    const rows = Object.fromEntries(program.database.documents);
    expect([name, rows]).toEqual([name, Object.fromEntries(await program.folded())]);
  }
};

const expectSurvived = async (seed: number, kill: Kill, undisturbed: readonly string[]): Promise<void> => {
  const world = await told(seed, kill);
  try {
    expect(world.kills).toBe(1);
    expect(outcomeOf(world)).toEqual(undisturbed);
    await expectWhole(world);
  } catch (error) {
    throw new Error(nameOf(seed, world, kill), { cause: error });
  }
};

describe('a cluster that is created and deleted while services are killed', () => {
  it('says the same in every order of the services', async () => {
    const worlds = await Promise.all([1, 2, 3, 4, 5].map((seed) => told(seed)));
    const [first] = worlds;
    for (const world of worlds) {
      expect(world.kills).toBe(0);
      expect(outcomeOf(world)).toEqual(outcomeOf(first!));
      await expectWhole(world);
    }
    expect(first!.events.at(-1)?.type).toBe('ClusterDeleted');
  });

  it.each(SERVICES)(
    `ends the same when %s is killed at ${EVERY === 1 ? 'any event' : `one event of ${EVERY}`}, before or after it is in the log [CB-Ladybug 28, azimuth 26]`,
    async (service: Service) => {
      for (let seed = SEED_FIRST; seed < SEED_FIRST + ROUNDS; seed += 1) {
        const undisturbed = await told(seed);
        const desired = outcomeOf(undisturbed);
        for (let boundary = 1 + (SERVICES.indexOf(service) % EVERY); boundary <= undisturbed.length; boundary += EVERY)
          for (const when of MOMENTS) await expectSurvived(seed, { service, boundary, when }, desired);
      }
    },
    LIMIT_MS,
  );
});
