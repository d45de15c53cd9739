import { CONNECTIONS_STREAM, REALM_SECRETS_OWNER, realmSecretRef } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, requestStream, typesOf } from '../../test/memory.service.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { CLIENT, declared, realm } from './identity.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 200);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Seconds on an idle machine; this allows for a busy one. */
const LIMIT_MS = 600_000;
const seeds = Array.from({ length: SEEDS }, (_, index) => SEED_FIRST + index);
/** Large, because a waiting cluster is checked repeatedly. */
const WAITING_STEPS_MAX = 400;
/** What someone changes at the realm is looked for again and again. */
const STEPS_MAX = 2_000;

const begin = async (simulation: Simulation): Promise<void> => {
  const namespace = { name: 'default' as never, description: '' };
  await simulation.say(ownNamespaceStream, { type: 'NamespaceCreated', data: namespace });
  await simulation.say(CONNECTIONS_STREAM, registered());
  await simulation.secrets.put(realmSecretRef('default', 'company'), 'secret', REALM_SECRETS_OWNER);
};

const register = (simulation: Simulation): Promise<void> => simulation.say(ownNamespaceStream, realm('company'));

const request = async (simulation: Simulation, oidc: Parameters<typeof declared>[0] = {}): Promise<void> => {
  await simulation.say(requestStream, requested());
  await simulation.say(requestStream, declared(oidc));
};

const dismantle = async (simulation: Simulation): Promise<void> => {
  await simulation.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
  await simulation.run(simulation.below(60));
  await simulation.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
};

const count = (types: readonly string[], type: string): number => types.filter((one) => one === type).length;

const repeated = <One>(all: readonly One[]): readonly One[] => all.filter((one, at) => one === all[at - 1]);

/** Without those that state again that nothing blocks. */
const ofIdentity = (simulation: Simulation): readonly string[] => {
  const types = typesOf(simulation.log, UID).filter(
    (type) => type.startsWith('Identity') && type !== 'IdentityBlocked',
  );
  return types.filter((type, at) => type !== 'IdentityReady' || type !== types[at - 1]);
};

/** Lost calls to the realm are reasons to wait. Each is stated once until it ends or another one takes its place. */
const expectFewStatements = (simulation: Simulation): void => {
  const statements = simulation.log.events.flatMap((event) =>
    event.type === 'IdentityBlocked' ? event.data.reason : event.type === 'IdentityReady' ? event.type : [],
  );
  expect(repeated(statements)).toEqual([]);
};

describe(`over ${SEEDS} seeds of lost calls, duplicate deliveries, disorder and crashes`, () => {
  it.each([
    ['before the cluster is requested', true],
    ['after the cluster waits for it', false],
  ])(
    'a cluster whose realm is registered %s has one client, and no machine is planned before [azimuth 3, azimuth 4]',
    async (_when, isFirst) => {
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        await begin(simulation);
        if (isFirst) await register(simulation);
        await request(simulation);
        if (!isFirst) {
          await simulation.run(WAITING_STEPS_MAX);
          expect([seed, ofIdentity(simulation)]).toEqual([seed, []]);
          await register(simulation);
        }
        await simulation.run(STEPS_MAX);
        const types = typesOf(simulation.log, UID);
        expect([seed, ofIdentity(simulation)]).toEqual([seed, ['IdentityRequested', 'IdentityReady']]);
        expect([seed, simulation.realm.made, [...simulation.realm.clients]]).toEqual([seed, [CLIENT], [[CLIENT, UID]]]);
        expect([seed, [...simulation.realm.groups]]).toEqual([seed, [[`/${CLIENT}`, UID]]]);
        expect(types.indexOf('VmsPlanned')).toBeGreaterThan(types.indexOf('IdentityReady'));
        expectFewStatements(simulation);
      }
    },
    LIMIT_MS,
  );

  it(
    'a cluster has the clients and groups of the services that its manifest names last, whatever someone deletes at the realm [azimuth 7]',
    async () => {
      const service = (name: string) => ({ name, url: `https://${name}.example.org` });
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        const { clients, groups } = simulation.realm;
        await begin(simulation);
        await register(simulation);
        await request(simulation, { services: [service('grafana'), service('wiki')] });
        await simulation.run(simulation.below(1_200));
        await simulation.say(requestStream, declared({ services: [service('wiki')] }, 2));
        await simulation.run(simulation.below(1_200));
        for (const items of [clients, groups]) items.delete([...items.keys()][simulation.below(4)] ?? '');
        await simulation.run(STEPS_MAX);
        simulation.troubles = CALM;
        await simulation.run(STEPS_MAX);
        expect([seed, [...clients.keys()].toSorted(), [...groups.keys()].toSorted()]).toEqual([
          seed,
          [CLIENT, `${CLIENT}.wiki`],
          [`/${CLIENT}`, `/${CLIENT}/wiki`],
        ]);
      }
    },
    LIMIT_MS,
  );

  it(
    'a cluster that is deleted at any time leaves neither client nor group, and is recorded as deleted once, last [azimuth 26]',
    async () => {
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        await begin(simulation);
        await register(simulation);
        await request(simulation);
        await simulation.run(simulation.below(800));
        await dismantle(simulation);
        await simulation.run();
        simulation.troubles = CALM;
        await simulation.run();
        const types = typesOf(simulation.log, UID);
        expect([seed, simulation.realm.clients.size, simulation.realm.groups.size]).toEqual([seed, 0, 0]);
        expect([seed, count(types, 'ClusterDeleted'), types.at(-1)]).toEqual([seed, 1, 'ClusterDeleted']);
        expect([seed, simulation.cloud.machines.size]).toEqual([seed, 0]);
      }
    },
    LIMIT_MS,
  );
});
