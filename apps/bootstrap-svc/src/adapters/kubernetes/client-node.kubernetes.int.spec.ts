import { SimulatedCluster } from '../../../../../libs/lab/src/kubernetes/index.js';
import { ClientNodeKubernetes } from './client-node.kubernetes.js';
import { kubernetesFeatures, type ClusterUnderTest } from './kubernetes.features.js';

const VERSION = 'v1.34.4';
const HOST = '127.0.0.1';

const startSimulated = async (): Promise<ClusterUnderTest> => {
  const simulated = await SimulatedCluster.create({
    name: 'demo',
    version: VERSION,
    podCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/12',
    delays: { podStartMs: 20, podStopMs: 20, nodeMonitorGraceMs: 500 },
  });
  const listener = await simulated.listen({ host: HOST, port: 0, sans: [] });
  const node = (name: string, role: 'control-plane' | 'worker', internalIP: string): void =>
    simulated.registerNode({
      name,
      role,
      internalIP,
      kubeletVersion: VERSION,
      containerRuntimeVersion: 'containerd://1.7.24',
      osImage: 'Debian GNU/Linux 12 (Fairlead lab simulation)',
      kernelVersion: '6.1.0',
      cpu: 4,
      memory: '8Gi',
    });
  node('cp-1', 'control-plane', '10.0.0.1');
  node('w-1', 'worker', '10.0.0.2');
  node('w-2', 'worker', '10.0.0.3');
  return {
    kubeconfig: await simulated.kubeconfig({ server: `https://${HOST}:${listener.port}`, user: 'admin' }),
    controlPlane: { name: 'cp-1', address: '10.0.0.1' },
    workers: ['w-1', 'w-2'],
    kubeletVersion: VERSION,
    labelsOf: async (name) => simulated.nodes().find(({ metadata }) => metadata.name === name)?.metadata.labels ?? {},
    podsOn: async (name) =>
      simulated
        .pods()
        .filter(({ spec }) => spec.nodeName === name)
        .map(({ metadata }) => metadata.name),
    killNode: async (name) => {
      simulated.setKubelet(name, { running: false });
      const isReady = (): boolean | undefined =>
        simulated
          .nodes()
          .find(({ metadata }) => metadata.name === name)
          ?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      const deadline = Date.now() + 10_000;
      while (isReady() === true) {
        if (Date.now() > deadline) throw new Error(`${name} is Ready 10 s after its kubelet stopped`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    stopAnswering: () => listener.close(),
    stop: () => simulated.close(),
  };
};

kubernetesFeatures("@kubernetes/client-node against the lab's simulated Kubernetes", {
  startCluster: startSimulated,
  makeApi: () => new ClientNodeKubernetes(),
});
