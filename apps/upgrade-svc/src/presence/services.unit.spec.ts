import { ExternalFailure, type Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { presence } from './presence.decider.js';
import { NO_SERVICES, serviceFindings, type ListedService, type ServiceFindings } from './services.planner.js';
import { ServicesWatch } from './services.watch.js';

const SERVICE: ListedService = {
  namespace: 'monitoring',
  name: 'grafana',
  createdMs: 0,
  type: 'ClusterIP',
  address: '10.96.0.20',
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  annotations: {},
};
const ONE = serviceFindings([SERVICE], []);
const NOTHING_ELSE = {
  ...{ uid, missing: [], strangers: [], overdue: [], contradicted: [], pressures: {} },
  seen: { present: [], strangers: [] },
};

describe('the Services of a cluster that ask to be published', () => {
  const listing = () => {
    let state = presence.evolve(presence.initial, stored(clusterRequested(), 1));
    return (services: ServiceFindings | undefined): readonly string[] => {
      const facts = presence.decide(state, { type: 'RecordPresence', data: { ...NOTHING_ELSE, services } });
      for (const fact of facts as readonly Fact[]) state = presence.evolve(state, stored(fact, 2));
      return (facts as readonly Fact[]).map(({ type }) => type);
    };
  };

  it('are recorded whenever they change, and once', () => {
    const list = listing();
    expect([list(NO_SERVICES), list(ONE), list(ONE), list(undefined), list(NO_SERVICES), list(NO_SERVICES)]).toEqual([
      [],
      ['PublishedServicesFound'],
      [],
      [],
      ['PublishedServicesFound'],
      [],
    ]);
  });

  it('are listed only where the cluster has a name, and a list that fails says nothing', async () => {
    const watch = new ServicesWatch();
    let lists = 0;
    let answer = async (): Promise<readonly ListedService[]> => [SERVICE];
    const api = {
      publishedServices: () => {
        lists += 1;
        return answer();
      },
    };
    expect([await watch.look(api), lists]).toEqual([undefined, 0]);
    watch.areTaken([]);
    expect(await watch.look(api)).toEqual(ONE);
    watch.areTaken(['grafana']);
    expect((await watch.look(api))?.refused).toMatchObject([{ reason: 'NameTaken' }]);
    answer = () => Promise.reject(new ExternalFailure({ operation: 'list', target: 'demo', message: 'no' }));
    expect(await watch.look(api)).toBeUndefined();
  });
});
