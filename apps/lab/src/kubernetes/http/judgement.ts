import { CLUSTER_ROLE_BINDINGS, PODS } from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';
import { bindsAdministrator, type Judgement } from './authorization.js';

/** The lookups of an authorization decision, against the current state of the cluster. */
export const judgementOf = (store: ObjectStore): Judgement => ({
  podOf: (namespace, name) => store.get(PODS, namespace, name),
  isClusterAdmin: (identity) =>
    store.list(CLUSTER_ROLE_BINDINGS).some((binding) => bindsAdministrator(binding, identity)),
});
