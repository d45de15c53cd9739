import { controlPlane, startLabCluster, VERSION, worker } from '../test/lab.cluster.js';
import { ClientNodeKubernetes } from './client-node.js';
import { kubernetesFeatures, type ClusterUnderTest } from './kubernetes.features.js';

const startCluster = async (): Promise<ClusterUnderTest> => {
  const lab = await startLabCluster({ controlPlanes: 3, workers: 2 });
  return {
    kubeconfig: lab.kubeconfig,
    version: VERSION,
    controlPlanes: [1, 2, 3].map((index) => ({ name: controlPlane(index), address: `10.0.0.${index}` })),
    workers: [worker(1), worker(2)],
    stopApiServer: async (name) => lab.listeners.get(name)?.close(),
    stopKubelet: async (name) => lab.simulated.setKubelet(name, { running: false }),
    stop: () => lab.stop(),
  };
};

kubernetesFeatures("@kubernetes/client-node against the lab's simulated Kubernetes", {
  startCluster,
  makeApi: () => new ClientNodeKubernetes(),
});
