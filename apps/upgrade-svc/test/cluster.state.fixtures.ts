import type { NodeName } from '@fairlead/contracts';
import { clusterRequested, uid } from '../src/nodes/nodes.fixtures.js';
import { newCluster, type ClusterState, type RolloutNode } from '../src/rollout/rollout.state.js';

const nodeNamed = (name: string): RolloutNode => ({
  name: name as NodeName,
  role: name.includes('-cp-') ? 'control-plane' : 'worker',
  pool: name.includes('-cp-') ? 'control-plane' : 'w',
  desired: null,
  software: { kubelet: '1.33.13', containerd: '1.7.24' },
  ready: true,
  readyRevision: 1,
  lost: false,
  unwellSince: null,
  readySince: null,
});

/** The state that the log would result in for a cluster with these nodes. */
export const knownCluster = (...names: readonly string[]): ClusterState => ({
  ...newCluster(clusterRequested(uid, 'v1.33.13').data),
  life: 'ready',
  nodes: Object.fromEntries(names.map((name) => [name, nodeNamed(name)])),
});
