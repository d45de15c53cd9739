/** Most nodes of one pool. */
export const POOL_NODES_MAX = 500;

/** Most workers of one cluster, in all pools. */
export const CLUSTER_WORKERS_MAX = POOL_NODES_MAX;

/** Most control planes: each further member makes etcd slower, and seven tolerate three failures. */
export const CONTROL_PLANES_MAX = 7;

/** Most nodes of one cluster. */
export const CLUSTER_NODES_MAX = CLUSTER_WORKERS_MAX + CONTROL_PLANES_MAX;

/** How many load balancers and volumes are named when a cluster has not released them, and the length of each name. */
export const OUTSIDE_LEFT_MAX = 50;
export const OUTSIDE_NAME_MAX = 600;
