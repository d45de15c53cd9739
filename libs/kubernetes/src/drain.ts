export { DRAIN_ORDER, leaves, type DrainPod } from './drain/drain.planner.js';
export { drainNode, NodeDrain, type DrainableCluster, type Drained, type Refusal } from './drain/node.drain.js';
