import { describe, expect, it } from '@jest/globals';
import type { ClusterLease } from '@fairlead/contracts';
import { BROKEN, CrashWorld, SERVICES, type Failing, type Kill, type Service } from './crash/crash.world.js';
import { outcome } from './crash/outcome.js';

/**
 * A hundred seeds of other simulations equal one order of the services here; with fewer than 25, each service skips
 * some events, and different ones.
 */
const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const ROUNDS = Math.ceil(SEEDS / 100);
const EVERY = SEEDS >= 25 ? 1 : Math.ceil(25 / SEEDS);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
const LIMIT_MS = 600_000;
const MOMENTS = ['before', 'after'] as const;
const MACHINES = 5;

const worldAfter = async (seed: number, kill?: Kill, failing?: Failing, lease?: ClusterLease): Promise<CrashWorld> => {
  const world = new CrashWorld(seed, kill, failing, lease);
  try {
    await world.run();
    return world;
  } catch (error) {
    throw new Error(nameOf(seed, world, kill), { cause: error });
  }
};

/** The name of a failing seed: who was killed, when, and what happened. */
const nameOf = (seed: number, world: CrashWorld, kill?: Kill): string => {
  const killed =
    kill === undefined ? 'nobody is killed' : `${kill.service} is killed ${kill.when} event ${kill.boundary}`;
  const events = world.log.events.map(({ meta, type }) => `${meta.context} ${type}`);
  return `seed ${seed}, ${killed}\n  ${events.join('\n  ')}`;
};

/** Rows and states follow from the log, whoever was killed while they were written. */
const expectFolded = async (world: CrashWorld): Promise<void> => {
  for (const [name, program] of Object.entries(world.programs)) {
    const rows = Object.fromEntries(program.database.documents);
    expect([name, rows]).toEqual([name, Object.fromEntries(await program.folded())]);
  }
};

const outcomeOf = (world: CrashWorld): readonly string[] => outcome(world.events, 'demo');

/** Checks all invariants at the end, whatever was killed. */
const expectWhole = async (world: CrashWorld): Promise<void> => {
  expect(world.count('VmCreated')).toBe(MACHINES);
  expect([...world.cloud.creations].filter(([, times]) => times !== 1)).toEqual([]);
  const { violations, inits, joins } = world.bootstrap.world;
  expect([violations, inits.length, joins.length]).toEqual([[], 1, MACHINES - 1]);
  expect([world.cloud.machines.size, world.cloud.balancers.size]).toEqual([0, 0]);
  expect([...world.bootstrap.secrets.values.keys()]).toEqual(['infra-svc.ssh-key.lab']);
  await expectFolded(world);
};

/** Machines are created after their reservation and deleted before it, and nothing stays reserved. */
const expectReleased = (world: CrashWorld): void => {
  expect(world.cloud.reservations.size).toBe(0);
  expect(
    ['ReservationConfirmed', 'ReservationActivated', 'ReservationReleased'].map((type) => world.count(type as never)),
  ).toEqual([1, 1, 1]);
  const types = world.events.map(({ type }) => type);
  expect(types.indexOf('ReservationActivated')).toBeLessThan(types.indexOf('VmsPlanned'));
  expect(types.lastIndexOf('VmDeleted')).toBeLessThan(types.indexOf('ReservationReleased'));
};

const expectSurvived = async (
  seed: number,
  kill: Kill,
  undisturbed: readonly string[],
  lease?: ClusterLease,
): Promise<void> => {
  const world = await worldAfter(seed, kill, undefined, lease);
  try {
    expect(world.kills).toBe(1);
    expect(outcomeOf(world)).toEqual(undisturbed);
    await expectWhole(world);
    if (lease !== undefined) expectReleased(world);
  } catch (error) {
    throw new Error(nameOf(seed, world, kill), { cause: error });
  }
};

describe('a cluster that is created and deleted while services are killed', () => {
  it('has the same outcome in every order of the services', async () => {
    const worlds = await Promise.all([1, 2, 3, 4, 5].map((seed) => worldAfter(seed)));
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
        const undisturbed = await worldAfter(seed);
        const desired = outcomeOf(undisturbed);
        for (let boundary = 1 + (SERVICES.indexOf(service) % EVERY); boundary <= undisturbed.length; boundary += EVERY)
          for (const when of MOMENTS) await expectSurvived(seed, { service, boundary, when }, desired);
      }
    },
    LIMIT_MS,
  );
});

const LEASE: ClusterLease = {
  endsAt: '2099-01-01T00:00:00.000Z',
  gracePeriod: '10m',
  warnings: [],
  reservation: 'Required',
};

/** Most of its events are those of every creation and deletion. */
const EVERY_RESERVED = 4 * EVERY;

describe('a cluster with a reservation that is created, and deleted at its end, while services are killed', () => {
  it.each(SERVICES)(
    'has the same outcome when %s is killed, and leaves nothing reserved [azimuth 26]',
    async (service: Service) => {
      const undisturbed = await worldAfter(SEED_FIRST, undefined, undefined, LEASE);
      expectReleased(undisturbed);
      const desired = outcomeOf(undisturbed);
      const first = 1 + (SERVICES.indexOf(service) % EVERY_RESERVED);
      for (let boundary = first; boundary <= undisturbed.length; boundary += EVERY_RESERVED)
        for (const when of MOMENTS) await expectSurvived(SEED_FIRST, { service, boundary, when }, desired, LEASE);
    },
    LIMIT_MS,
  );
});

/** What remains after a failed creation was cleaned up: the shared resources of the connection, and the record. */
const expectCleanedUp = async (world: CrashWorld): Promise<void> => {
  expect([world.cloud.machines.size, world.cloud.balancers.size]).toEqual([0, 0]);
  const shared = ['infra-svc.ssh-key.lab'];
  expect([...world.bootstrap.secrets.values.keys()].filter((name) => !shared.includes(name))).toEqual([]);
  const { events } = world;
  const issued = events.flatMap((event) => (event.type === 'AgentCredentialIssued' ? [event.data.user] : []));
  const revoked = events.flatMap((event) => (event.type === 'AgentCredentialsRevoked' ? event.data.users : []));
  expect(issued.filter((user) => !revoked.includes(user))).toEqual([]);
  const [failed] = events.filter((event) => event.type === 'ClusterFailed');
  const deletions = events.filter((event) => event.type === 'ClusterDeletionRequested');
  expect(deletions).toMatchObject([
    {
      meta: { actor: 'system/gateway', causationId: failed?.meta.id },
      data: { failure: { reason: failed?.data.reason, message: expect.stringContaining(BROKEN) } },
    },
  ]);
  expect(world.events.at(-1)?.type).toBe('ClusterDeleted');
  const operations = JSON.parse(world.programs.gateway.database.documents.get('operations|default/demo') ?? '{}');
  expect(operations).toMatchObject({
    operations: [
      { kind: 'create', phase: 'Failed', reason: failed?.data.reason, message: expect.stringContaining(BROKEN) },
      { kind: 'delete', phase: 'Succeeded' },
    ],
  });
  const record = JSON.parse(world.programs.gateway.database.documents.get('clusters|default/demo') ?? '{}');
  const { reason, message } = deletions[0]?.data.failure ?? {};
  expect(record).toMatchObject({ phase: 'Failed', reason, message, spec: { name: 'demo' } });
  await expectFolded(world);
};

const FAILING: readonly Failing[] = [
  { service: 'infra-svc', step: 'list specs' },
  { service: 'infra-svc', step: 'ensure network' },
  { service: 'infra-svc', step: 'create machines' },
  { service: 'infra-svc', step: 'ensure load balancer' },
  { service: 'bootstrap-svc', step: 'prepare' },
  { service: 'bootstrap-svc', step: 'verify' },
  { service: 'bootstrap-svc', step: 'etcd-member' },
  { service: 'bootstrap-svc', step: 'kubeadm-init' },
  { service: 'bootstrap-svc', step: 'apply' },
  { service: 'bootstrap-svc', step: 'kubeadm-join-control-plane' },
  { service: 'bootstrap-svc', step: 'kubeadm-join-worker' },
  { service: 'bootstrap-svc', step: 'apply StorageClass' },
];

/** Failed attempts are events, too, so services are killed at fewer of them. */
const EVERY_FAILING = 12 * EVERY;

describe('a cluster whose creation fails, with onFailure: cleanup', () => {
  it.each(FAILING)(
    'leaves nothing but the record of its failure when "$step" fails, whichever service is killed meanwhile [CB-Ladybug 26]',
    async (failing: Failing) => {
      const undisturbed = await worldAfter(SEED_FIRST, undefined, failing);
      await expectCleanedUp(undisturbed);
      let turn = FAILING.indexOf(failing);
      for (let boundary = 1 + turn; boundary <= undisturbed.length; boundary += EVERY_FAILING) {
        const kill: Kill = { service: SERVICES[turn % 4] ?? 'gateway', boundary, when: MOMENTS[turn % 2] ?? 'after' };
        turn += 1;
        const world = await worldAfter(SEED_FIRST, kill, failing);
        try {
          expect(world.kills).toBe(1);
          await expectCleanedUp(world);
        } catch (error) {
          throw new Error(nameOf(SEED_FIRST, world, kill), { cause: error });
        }
      }
    },
    LIMIT_MS,
  );
});
