import { describe, expect, it } from '@jest/globals';
import { stateAfter, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import { reachedDirectly } from './agent.kit.js';

describe('what hosts behind a proxy reach directly', () => {
  it('is the host, pods, services and the API, by the DNS domain of the cluster', () => {
    const state = stateAfter(...wholeCluster());
    if (state.status !== 'ready') throw new Error(state.status);
    const { cluster } = state;
    const [host] = Object.values(cluster.hosts);
    const { kubernetes } = cluster.spec;
    const spec = { ...cluster.spec, kubernetes: { ...kubernetes, serviceDnsDomain: 'k8s.example.org' } };
    const direct = reachedDirectly({ ...cluster, spec }, host!.machine);
    expect(direct).toEqual(
      expect.arrayContaining(['.svc', '.k8s.example.org', kubernetes.podCidr, kubernetes.serviceCidr]),
    );
    expect(direct).not.toContain('.cluster.local');
  });
});
