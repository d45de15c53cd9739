export { DRAIN_LABEL, DRAIN_ORDER, leaves, leavingOf, rulesFor, type DrainPod } from './drain/drain.planner.js';
export {
  drainNode,
  NodeDrain,
  type DrainableCluster,
  type Drained,
  type DrainLook,
  type Draining,
  type LeftPod,
  type Refusal,
} from './drain/node.drain.js';
