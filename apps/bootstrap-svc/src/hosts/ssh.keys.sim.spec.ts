import type { Fact, SecretRef } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { forSeeds, SEED_FIRST } from '../../test/seeds.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { FIRST_KEY, publicOf } from '../../test/world.js';
import { balanced, cp, created, machine, machinesOf, requested, UID, w } from '../bootstrap/bootstrap.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
/** Few attempts and many disturbances: an operator then retries. */
const RETRIES_MAX = 60;
/** Takes seconds on a dedicated machine; longer on a shared one. */
const LIMIT_MS = 600_000;
const FIRST = 'infra-svc.ssh-key.lab' as SecretRef;
const SECOND = 'infra-svc.ssh-key.lab_2' as SecretRef;
const NEW_KEY = 'another key';
const FIVE = [cp(1), cp(2), cp(3), w(1), w(2)];

const replacement: Fact = {
  type: 'SshKeyReplacementRequested',
  data: {
    uid: UID,
    connection: 'lab' as never,
    keyRef: SECOND,
    publicKey: publicOf(NEW_KEY),
    former: { keyRef: FIRST, publicKey: publicOf(FIRST_KEY) },
  },
};

const retry: Fact = { type: 'ClusterRetryRequested', data: { uid: UID } };

const begin = async (simulation: Simulation): Promise<void> => {
  await simulation.say('request', requested(3, 2));
  await simulation.say('machines', created(machinesOf(3, 2)), balanced);
};

const rotate = async (simulation: Simulation): Promise<void> => {
  await simulation.secrets.put(SECOND, NEW_KEY);
  await simulation.say('machines', replacement);
};

const removed = (simulation: Simulation): number => simulation.count('AuthorizedKeyRemoved');

const untilReplaced = async (simulation: Simulation, hosts: number): Promise<void> => {
  const isDone = (): boolean => removed(simulation) >= hosts && simulation.types.includes('ClusterReady');
  await simulation.run();
  for (let tries = 0; !isDone(); tries += 1) {
    if (tries > RETRIES_MAX) throw new Error('hosts keep their former key');
    await simulation.say('request', retry);
    await simulation.run();
  }
};

/** A host always accepts its recorded key. */
const expectNoneLocked = (simulation: Simulation): void => {
  const recorded = new Map<string, string>();
  for (const event of simulation.store.events)
    if (event.type === 'AuthorizedKeyAdded') recorded.set(event.data.node, NEW_KEY);
  for (const node of FIVE) expect(simulation.world.host(node).keys).toContain(recorded.get(node) ?? FIRST_KEY);
};

describe('the SSH keys of the hosts of a cluster', () => {
  it(
    'are replaced at any time despite crashes: no host is ever locked, and in the end the former key opens none',
    () =>
      forSeeds(SEEDS, async (simulation) => {
        await begin(simulation);
        await simulation.run(simulation.below(900));
        await rotate(simulation);
        for (let part = 0; part < 20; part += 1) {
          await simulation.run(20);
          expectNoneLocked(simulation);
        }
        await untilReplaced(simulation, FIVE.length);
        expect(FIVE.map((node) => simulation.world.host(node).keys)).toEqual(FIVE.map(() => [NEW_KEY]));
        for (const node of FIVE)
          for (const type of ['AuthorizedKeyAdded', 'AuthorizedKeyRemoved'] as const)
            expect([type, node, simulation.count(type, node)]).toEqual([type, node, 1]);
        expect(simulation.count('ClusterFailed')).toBeLessThanOrEqual(RETRIES_MAX);
        expect(simulation.world.violations).toEqual([]);
        expect(JSON.stringify(simulation.store.events)).not.toContain(NEW_KEY);
      }),
    LIMIT_MS,
  );

  it(
    'are also replaced on a host that is announced later with the former key, but not on one that was created with the new one',
    () =>
      forSeeds(
        SEEDS,
        async (simulation) => {
          await begin(simulation);
          await rotate(simulation);
          await untilReplaced(simulation, FIVE.length);
          simulation.world.host(w(4)).keys = [NEW_KEY];
          const fresh = machine(w(4));
          await simulation.say(
            'machines',
            created([machine(w(3)), { ...fresh, ssh: { ...fresh.ssh, keyRef: SECOND } }]),
          );
          await untilReplaced(simulation, FIVE.length + 1);
          expect(simulation.world.host(w(3)).keys).toEqual([NEW_KEY]);
          expect([simulation.count('AuthorizedKeyAdded', w(3)), simulation.count('AuthorizedKeyAdded', w(4))]).toEqual([
            1, 0,
          ]);
        },
        CALM,
      ),
    LIMIT_MS,
  );

  it('of an unreachable host wait until it returns, without a failed attempt, and do not delay the others', async () => {
    const simulation = new Simulation(SEED_FIRST, CALM);
    await begin(simulation);
    await simulation.run();
    simulation.world.unreachable.add(w(2));
    await rotate(simulation);
    for (let part = 0; removed(simulation) < FIVE.length - 1 && part < 200; part += 1) await simulation.run(20);
    expect([removed(simulation), simulation.count('AuthorizedKeyAdded', w(2))]).toEqual([4, 0]);
    expect(simulation.world.host(w(2)).keys).toEqual([FIRST_KEY]);
    simulation.world.unreachable.delete(w(2));
    await simulation.run();
    expect(simulation.world.host(w(2)).keys).toEqual([NEW_KEY]);
    expect(simulation.count('BootstrapStepFailed')).toBe(0);
  });

  it('are unchanged if the host rejects the change: the cluster is unaffected, and a retry continues', async () => {
    const simulation = new Simulation(SEED_FIRST, CALM);
    await begin(simulation);
    await simulation.run();
    simulation.world.failing.set(`authorized-keys/${w(1)}`, 'Read-only file system');
    await rotate(simulation);
    await simulation.run();
    expect(simulation.count('ClusterFailed') + simulation.count('NodeRemovalRequested')).toBe(0);
    expect(simulation.count('BootstrapStepFailed', w(1))).toBeGreaterThan(0);
    expect(simulation.world.host(w(1)).keys).toEqual([FIRST_KEY]);
    simulation.world.failing.clear();
    await simulation.say('request', retry);
    await simulation.run();
    expect(simulation.world.host(w(1)).keys).toEqual([NEW_KEY]);
  });
});
