import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../libs/kubernetes/test/workloads.js';
import { OPERATORS_BINDING } from '../kubeconfigs/operators.manifests.js';
import type { KubernetesCluster } from '../kubernetes/kubernetes.ports.js';
import { NETWORKS, NFS_STORAGE, PRELOADED_NETWORKS } from './catalogue.js';
import { rolloutProblems, workloadsOf } from './rollout.js';

/** A cluster right after kubeadm init: without a network, so that no node is Ready. */
export interface BareCluster {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const SETTINGS = {
  podCidr: '10.244.0.0/16',
  oneSegment: false,
  nftables: false,
  endpoint: { host: '198.18.7.1', port: 6443 },
} as const;
const START_LIMIT_MS = 180_000;
const ROLLOUT_LIMIT_MS = 90_000;
const CASE_LIMIT_MS = 120_000;

/** The API accepts everything that is installed into every cluster, and it rolls out. The cases build on each other. */
export const addonsFeatures = (name: string, startCluster: () => Promise<BareCluster>): void => {
  describe(`add-ons in a cluster: ${name}`, () => {
    let under: BareCluster;
    let api: ClientNodeKubernetes;
    let cluster: KubernetesCluster;

    beforeAll(async () => {
      under = await startCluster();
      api = new ClientNodeKubernetes();
      cluster = await api.of({ uid: 'uid-1', cluster: 'demo', kubeconfig: under.kubeconfig });
    }, START_LIMIT_MS);

    afterAll(async () => {
      api?.close();
      await under?.stop();
    }, CASE_LIMIT_MS);

    it('without a network no node is Ready', async () => {
      const nodes = await cluster.nodes();
      expect(nodes.length).toBeGreaterThan(2);
      expect(nodes.filter(({ ready }) => ready)).toEqual([]);
    });

    it(
      'a network makes the nodes Ready; applying it again changes nothing',
      async () => {
        const manifests = NETWORKS.flannel.manifests(SETTINGS);
        await cluster.apply(manifests);
        await cluster.apply(manifests);
        await eventually(
          () => cluster.nodes(),
          (found) => found.every(({ ready }) => ready),
          ROLLOUT_LIMIT_MS,
        );
      },
      CASE_LIMIT_MS,
    );

    const networks = [
      ...Object.entries(NETWORKS),
      ...Object.entries(PRELOADED_NETWORKS).map(([cni, entry]) => [`${cni} of a mirror`, entry] as const),
    ];
    it.each(networks)(
      'every manifest of the network %s is accepted and rolls out',
      async (_name, entry) => {
        const manifests = entry.manifests(SETTINGS);
        await cluster.apply(manifests);
        const workloads = workloadsOf(manifests);
        expect(workloads.length).toBeGreaterThan(0);
        await eventually(
          () => rolloutProblems(cluster, workloads),
          (problems) => problems.length === 0,
          ROLLOUT_LIMIT_MS,
        );
      },
      CASE_LIMIT_MS,
    );

    it('the storage class and the permissions of operators are accepted', async () => {
      await cluster.apply(NFS_STORAGE.manifests({ server: '198.18.7.9', path: '/export' }));
      await cluster.apply([OPERATORS_BINDING]);
    });
  });
};
