import { planBudget } from '../disruption/disruption.planner.js';
import { matchesSelector } from '../objects/label.selector.js';
import { objectKey } from '../objects/kube.object.js';
import { POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, STATEFUL_SETS } from '../resources/builtin.resources.js';
import type { Controller } from './controller.js';
import { byKey, concerns, keysOf, type World } from './world.js';

export const disruptionController = ({ store, clock }: World): Controller => ({
  name: 'disruption-controller',
  keysFor: (change) => {
    if (concerns(change, POD_DISRUPTION_BUDGETS)) return change.type === 'DELETED' ? [] : [objectKey(change.object)];
    if (concerns(change, REPLICA_SETS) || concerns(change, STATEFUL_SETS)) {
      return store.list(POD_DISRUPTION_BUDGETS, change.object.metadata.namespace).map(objectKey);
    }
    if (!concerns(change, PODS)) return [];
    return store
      .list(POD_DISRUPTION_BUDGETS, change.object.metadata.namespace)
      .filter(
        ({ spec }) => spec.selector !== undefined && matchesSelector(spec.selector, change.object.metadata.labels),
      )
      .map(objectKey);
  },
  allKeys: () => keysOf(store, POD_DISRUPTION_BUDGETS),
  plan: (key) => {
    const budget = byKey(store, POD_DISRUPTION_BUDGETS, key);
    if (budget === undefined) return [];
    const namespace = budget.metadata.namespace ?? '';
    const scales = new Map(
      [...store.list(REPLICA_SETS, namespace), ...store.list(STATEFUL_SETS, namespace)].map(({ metadata, spec }) => [
        metadata.uid,
        spec.replicas ?? 1,
      ]),
    );
    return planBudget({
      budget,
      pods: store.list(PODS, namespace),
      scaleOf: (uid) => scales.get(uid),
      nowMs: clock.now(),
    });
  },
});
