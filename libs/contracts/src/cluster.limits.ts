/** Most nodes of one pool. */
export const POOL_NODES_MAX = 500;

/** Most nodes of one cluster: 500 workers beside seven control planes. */
export const CLUSTER_NODES_MAX = POOL_NODES_MAX + 7;
