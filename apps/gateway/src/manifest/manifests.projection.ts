import { declaredAfter, DECLARING, type Declared } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

/** One row per cluster that exists: what is declared of it. */
export const manifestsProjection: Projection<Declared> = {
  name: 'manifests',
  table: 'manifests',
  keys: ({ type, meta }) => (DECLARING.has(type) ? [clusterKey(meta.namespace, meta.cluster)] : []),
  evolve: declaredAfter,
};
