import { describe, expect, it } from '@jest/globals';
import { cp, machine } from '../bootstrap/bootstrap.fixtures.js';
import type { KubernetesCluster } from '../kubernetes/kubernetes.ports.js';
import { controlPlaneProblems } from './control-plane.health.js';

const MACHINES = [1, 2].map((index) => ({ ...machine(cp(index)), privateIp: `10.0.0.${index}` }));
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

const problems = (addresses: readonly string[]) => {
  const cluster: Pick<KubernetesCluster, 'failingChecks' | 'staticPods' | 'apiServerAddresses'> = {
    failingChecks: async () => [],
    staticPods: async () =>
      MACHINES.flatMap(({ name }) =>
        COMPONENTS.map((component) => ({ node: name, labels: { component }, ready: true })),
      ),
    apiServerAddresses: async () => addresses,
  };
  return controlPlaneProblems(cluster as KubernetesCluster, MACHINES, 'local');
};

describe('a control plane', () => {
  it('is healthy if each of its API servers advertises its own address [CB-Ladybug 17]', async () =>
    expect(await problems(['10.0.0.2', '10.0.0.1'])).toEqual([]));

  it('is unhealthy while one of them advertises the address of another one, or none [CB-Ladybug 17]', async () =>
    expect(await problems(['10.0.0.1'])).toEqual([`the API server of ${cp(2)} does not advertise 10.0.0.2`]));
});
