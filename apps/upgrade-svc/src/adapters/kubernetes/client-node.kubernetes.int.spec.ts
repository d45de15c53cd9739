import { startLabCluster } from '../../../test/lab.cluster.js';
import { kubernetesFeatures } from './kubernetes.features.js';

kubernetesFeatures("@kubernetes/client-node against the lab's simulated Kubernetes", () =>
  startLabCluster({ controlPlanes: 3, workers: 2 }),
);
