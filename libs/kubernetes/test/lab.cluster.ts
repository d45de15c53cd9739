import { SimulatedCluster, type ApiListener, type SimulatedClusterOptions } from '@fairlead/lab/testing/kubernetes';
import { ClientNodeKubernetes } from '../src/client-node.js';
import type { ClusterApi, Manifest } from '../src/cluster.ports.js';
import { KubernetesClient } from '../src/kubernetes.client.js';
import { eventually } from '@fairlead/testing';

export { budget, deployment } from './workloads.js';

export const VERSION = 'v1.33.13';
const HOST = '127.0.0.1';

/** A simulated cluster behind the adapter, as services use it. */
export interface LabCluster {
  readonly simulated: SimulatedCluster;
  readonly api: ClientNodeKubernetes;
  readonly cluster: ClusterApi;
  readonly kubeconfig: string;
  /** For what only specs do. */
  readonly client: KubernetesClient;
  /** The listener of one control plane; the first one is also the load-balanced address. */
  readonly listeners: ReadonlyMap<string, ApiListener>;
  apply(...manifests: Manifest[]): Promise<void>;
  stop(): Promise<void>;
}

export interface Shape {
  readonly controlPlanes: number;
  readonly workers: number;
  /** False: as created by kubeadm, without a Ready node. */
  readonly network?: boolean;
}

export const controlPlane = (index: number): string => `demo-cp-${index}`;
export const worker = (index: number): string => `demo-w-${index}`;

const register = (simulated: SimulatedCluster, name: string, address: string): void =>
  simulated.registerNode({
    name,
    role: name.includes('-cp-') ? 'control-plane' : 'worker',
    internalIP: address,
    kubeletVersion: VERSION,
    containerRuntimeVersion: 'containerd://1.7.24',
    osImage: 'Debian GNU/Linux 12 (Fairlead lab simulation)',
    kernelVersion: '6.1.0',
    cpu: 4,
    memory: '8Gi',
  });

/** As created by kubeadm; with a network every node is Ready. */
export const startLabCluster = async (
  { controlPlanes, workers, network = true }: Shape,
  options: Partial<SimulatedClusterOptions> = {},
): Promise<LabCluster> => {
  const simulated = await SimulatedCluster.create({
    name: 'demo',
    version: VERSION,
    podCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/12',
    delays: { podStartMs: 10, podStopMs: 10, jobRunMs: 30, nodeMonitorGraceMs: 300 },
    ...options,
  });
  const listeners = new Map<string, ApiListener>();
  for (let index = 1; index <= controlPlanes; index += 1) {
    const node = controlPlane(index);
    listeners.set(node, await simulated.listen({ host: HOST, port: 0, sans: [], node }));
    register(simulated, node, `10.0.0.${index}`);
    simulated.etcd.add(node, `https://10.0.0.${index}:2380`);
  }
  for (let index = 1; index <= workers; index += 1) register(simulated, worker(index), `10.0.1.${index}`);
  if (network) simulated.setNetworkReady(true);
  const [first] = listeners.values();
  const kubeconfig = await simulated.kubeconfig({ server: `https://${HOST}:${first?.port}`, user: 'admin' });
  const api = new ClientNodeKubernetes();
  const client = new KubernetesClient('demo', kubeconfig, () => undefined);
  const cluster = await api.of({ uid: 'uid-1', cluster: 'demo', kubeconfig });
  const lab: LabCluster = {
    simulated,
    api,
    cluster,
    kubeconfig,
    client,
    listeners,
    apply: (...manifests) => cluster.apply(manifests),
    stop: async () => {
      client.close();
      api.close();
      await simulated.close();
    },
  };
  await eventually(
    () => cluster.pods(),
    (pods) => pods.length > 0 && (!network || pods.every(({ ready }) => ready)),
  );
  return lab;
};
