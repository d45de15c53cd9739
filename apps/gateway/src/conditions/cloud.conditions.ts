import { CLOUD_ADDONS } from '@fairlead/contracts';
import { found, holds, whenNodesAreAway, type Read } from './condition.reading.js';

/** Of a cluster with a cloud controller, or of one cloud that has none. */
export const cloudController: Read = (facts) => {
  const { cloud, addons, createdAt, marks } = facts;
  const since = marks.machines ?? createdAt;
  if (cloud?.declared !== true)
    return {
      status: 'False',
      reason: 'Unsupported',
      message: `the provider ${cloud?.provider ?? ''} has no cloud controller: services of type LoadBalancer get no address from it, and claims no volume`,
      lastTransitionTime: since,
    };
  const controller = addons?.releases?.find(({ name }) => name === CLOUD_ADDONS.controller);
  if (controller?.phase === 'Deployed') return holds(controller.since);
  if (controller?.phase === 'Failed')
    return found({
      status: 'False',
      reason: 'CloudControllerFailed',
      message: controller.message,
      since: controller.since,
      ...(marks.ready === undefined ? {} : { calls: whenNodesAreAway(facts) }),
    });
  return { status: 'Unknown', reason: 'InProgress', message: '', lastTransitionTime: controller?.since ?? since };
};
