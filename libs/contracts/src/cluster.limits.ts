/** Maximum nodes per pool. */
export const POOL_NODES_MAX = 500;

/** Maximum workers per cluster, over all pools. */
export const CLUSTER_WORKERS_MAX = POOL_NODES_MAX;

/** Maximum control planes, with an external etcd of seven members; older clusters may have as many with etcd on them. */
export const CONTROL_PLANES_MAX = 7;

/** Maximum control planes with etcd on them: each further member slows etcd down, and five tolerate two failures. */
export const STACKED_CONTROL_PLANES_MAX = 5;

/** Maximum nodes per cluster. */
export const CLUSTER_NODES_MAX = CLUSTER_WORKERS_MAX + CONTROL_PLANES_MAX;

/** How many unreleased load balancers and volumes of a cluster are named, and the maximum length of each name. */
export const OUTSIDE_LEFT_MAX = 50;
export const OUTSIDE_NAME_MAX = 600;
