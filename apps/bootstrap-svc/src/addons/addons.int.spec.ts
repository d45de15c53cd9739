import { startLabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import { addonsFeatures } from './addons.features.js';

addonsFeatures("the lab's simulated Kubernetes", () =>
  startLabCluster({ controlPlanes: 1, workers: 2, network: false }),
);
