import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';
import { execFileSync } from 'node:child_process';
import { addonsFeatures } from '../../apps/bootstrap-svc/src/addons/addons.features.js';
import { kubernetesFeatures, type ClusterUnderTest } from '../../libs/kubernetes/src/kubernetes.features.js';
import { startControlPlane } from './control.plane.js';
import { HollowNodes, type HollowNode } from './hollow.nodes.js';

const VERSION = process.env['FAIRLEAD_REAL_VERSION'] ?? 'v1.34.4';

const node = (name: string, host: number): HollowNode => ({
  ...{ name, address: `198.18.7.${host}`, controlPlane: name.includes('-cp-') },
});
const CONTROL_PLANES = [node('demo-cp-1', 11), node('demo-cp-2', 12)];
const WORKERS = [node('demo-w-1', 21), node('demo-w-2', 22)];

/** A real control plane (etcd, two API servers, controller manager, scheduler) with hollow nodes. */
const startCluster = async (network: boolean): Promise<ClusterUnderTest> => {
  for (const { address } of CONTROL_PLANES) execFileSync('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo']);
  const controlPlane = await startControlPlane(
    VERSION,
    CONTROL_PLANES.map(({ address }) => address),
  );
  const nodes = new HollowNodes(controlPlane, VERSION, { network });
  const stop = async (): Promise<void> => {
    await nodes.stop();
    await controlPlane.stop();
  };
  try {
    await nodes.start([...CONTROL_PLANES, ...WORKERS]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    kubeconfig: controlPlane.kubeconfig,
    version: VERSION,
    controlPlanes: CONTROL_PLANES,
    workers: ['demo-w-1', 'demo-w-2'],
    stopApiServer: (name) =>
      controlPlane.stopApiServer(CONTROL_PLANES.find((one) => one.name === name)?.address ?? name),
    stopKubelet: async (name) => nodes.stopKubelet(name),
    stop,
  };
};

kubernetesFeatures(`@kubernetes/client-node against a real control plane of ${VERSION}`, {
  startCluster: () => startCluster(true),
  makeApi: () => new ClientNodeKubernetes(),
});

addonsFeatures(`a real control plane of ${VERSION}`, () => startCluster(false));
