import { declaredAfter, isDeclaring, type Declared } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

/** One row per cluster that exists: what is declared of it. */
export const manifestsProjection: Projection<Declared> = {
  name: 'manifests',
  table: 'manifests',
  keys: (event) => (isDeclaring(event) ? [clusterKey(event.meta.namespace, event.meta.cluster)] : []),
  evolve: declaredAfter,
};
