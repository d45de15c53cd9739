import type { ResourceRegistry } from '../resources/resource.registry.js';
import { cloudController } from './cloud.controller.js';
import type { Controller } from './controller.js';
import { leaderController, staticPodsController } from './controlplane.controllers.js';
import { daemonSetController } from './daemonset.controller.js';
import { definitionController } from './definition.controller.js';
import { disruptionController } from './disruption.controller.js';
import { garbageController, namespaceController } from './garbage.controller.js';
import { kubeletController, nodeController, schedulerController } from './node.controllers.js';
import {
  apiEndpointsController,
  claimController,
  claimProtectionController,
  endpointsController,
  namespaceContentController,
} from './service.controllers.js';
import {
  deploymentController,
  jobController,
  replicaSetController,
  statefulSetController,
} from './workload.controllers.js';
import type { World } from './world.js';

/** All controllers of a cluster: those of controller-manager and scheduler, and its kubelets. */
export const allControllers = (world: World, registry: ResourceRegistry, caPem: string): readonly Controller[] => [
  deploymentController(world),
  replicaSetController(world),
  daemonSetController(world),
  statefulSetController(world),
  jobController(world),
  schedulerController(world),
  kubeletController(world),
  nodeController(world),
  cloudController(world),
  staticPodsController(world),
  leaderController(world),
  disruptionController(world),
  endpointsController(world),
  apiEndpointsController(world),
  namespaceContentController(world, caPem),
  claimController(world),
  claimProtectionController(world),
  definitionController(world, registry),
  garbageController(world, registry),
  namespaceController(world, registry),
];
