import { CONNECTIONS_STREAM, declaredOf, REALM_SECRETS_OWNER, realmSecretRef, type Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, requestStream, typesOf } from '../../test/memory.service.js';
import { CALM, Simulation } from '../../test/simulation.js';
import { CLIENT, realm } from '../identity/identity.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Seconds on a machine of its own; patience for one that others use. */
const LIMIT_MS = 600_000;
const seeds = Array.from({ length: SEEDS }, (_, index) => SEED_FIRST + index);
/** Who holds a name is looked at again and again. */
const STEPS_MAX = 2_000;
/** Enough for a cluster of one control plane and its services. */
const SERVICES_STEPS_MAX = 400;
const NAME = 'api.demo.example.org';

const declared: Fact = {
  type: 'ClusterSpecChanged',
  data: { uid: UID, revision: 1, spec: { ...declaredOf(clusterSpec()), endpoint: { publish: true } } },
};

const begin = async (simulation: Simulation): Promise<void> => {
  await simulation.say(ownNamespaceStream, {
    type: 'NamespaceCreated',
    data: { name: 'default' as never, description: '' },
  });
  await simulation.say(CONNECTIONS_STREAM, registered());
  await simulation.say(requestStream, requested());
  await simulation.say(requestStream, declared);
};

const WIKI = 'wiki.demo.example.org';
const CLAIMS = { usernameClaim: 'sub', usernamePrefix: 'oidc:', groupsClaim: 'groups', groupsPrefix: 'oidc:' };
const rolloutStream = { namespace: 'default', cluster: 'demo', context: 'rollout' } as const;

const withRealm: Fact = {
  type: 'ClusterSpecChanged',
  data: {
    uid: UID,
    revision: 2,
    spec: { ...declaredOf(clusterSpec()), endpoint: { publish: true }, authentication: { oidc: CLAIMS } },
  },
};

const found = (...names: readonly string[]): Fact => ({
  type: 'PublishedServicesFound',
  data: {
    uid: UID,
    services: names.map((name) => ({
      ...{ namespace: 'default', name, subdomain: name, label: name },
      ...{ address: '10.96.0.20', port: 80 },
    })),
    refused: [],
  },
});

/** Names of services, and clients of services. */
const servicesOf = ({ names, realm: { clients } }: Simulation): readonly (readonly string[])[] => [
  [...names.reserved.keys()].filter((name) => name !== NAME).toSorted(),
  [...clients.keys()].filter((client) => client !== CLIENT).toSorted(),
];

const ofName = (simulation: Simulation): readonly string[] =>
  typesOf(simulation.log, UID).filter((type) => type.startsWith('Endpoint'));

describe(`over ${SEEDS} seeds of twin deliveries, disorder and crashes`, () => {
  it(
    'a cluster has one key and one name, and no machine is planned before [azimuth 15, azimuth 16]',
    async () => {
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        await begin(simulation);
        await simulation.run(STEPS_MAX);
        expect([seed, ofName(simulation)]).toEqual([seed, ['EndpointReserved']]);
        const types = typesOf(simulation.log, UID);
        expect(types.indexOf('VmsPlanned')).toBeGreaterThan(types.indexOf('EndpointReserved'));
        const [key] = simulation.log.events.flatMap((event) =>
          event.type === 'EndpointReserved' ? event.data.publicKey : [],
        );
        expect([seed, simulation.names.reserved.get(NAME)]).toEqual([seed, { uid: UID, publicKey: key }]);
      }
    },
    LIMIT_MS,
  );

  it(
    'a cluster that is deleted at any moment leaves neither name nor key, and is recorded as deleted once, last [azimuth 26]',
    async () => {
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        await begin(simulation);
        await simulation.run(simulation.below(800));
        await simulation.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
        await simulation.run(simulation.below(60));
        await simulation.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
        await simulation.run(STEPS_MAX);
        simulation.troubles = CALM;
        await simulation.run();
        const types = typesOf(simulation.log, UID);
        expect([seed, simulation.names.reserved.size, await simulation.secrets.get(`infra-svc.tunnel.${UID}`)]).toEqual(
          [seed, 0, undefined],
        );
        expect([seed, types.filter((type) => type === 'ClusterDeleted').length, types.at(-1)]).toEqual([
          seed,
          1,
          'ClusterDeleted',
        ]);
      }
    },
    LIMIT_MS,
  );

  it(
    'services that come and go at any moment are published with their clients, and leave neither name nor client [azimuth 7, azimuth 26]',
    async () => {
      for (const seed of seeds) {
        const simulation = new Simulation(seed);
        await begin(simulation);
        await simulation.secrets.put(realmSecretRef('default', 'company'), 'secret', REALM_SECRETS_OWNER);
        await simulation.say(ownNamespaceStream, realm('company'));
        await simulation.say(requestStream, withRealm);
        await simulation.say(rolloutStream, found('grafana', 'wiki'));
        await simulation.run(simulation.below(SERVICES_STEPS_MAX));
        await simulation.say(rolloutStream, found('wiki'));
        simulation.troubles = CALM;
        for (let round = 0; round < 3; round += 1) await simulation.run(SERVICES_STEPS_MAX);
        expect([seed, servicesOf(simulation)]).toEqual([seed, [[WIKI], [`${CLIENT}.wiki`]]]);
        await simulation.say(requestStream, { type: 'ClusterDeletionRequested', data: { uid: UID } });
        await simulation.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
        await simulation.run();
        expect([seed, simulation.names.reserved.size, simulation.realm.clients.size]).toEqual([seed, 0, 0]);
        expect([seed, typesOf(simulation.log, UID).at(-1)]).toEqual([seed, 'ClusterDeleted']);
      }
    },
    LIMIT_MS,
  );
});
