/** Nodes that a rollout has not reached yet: pods that move prefer those that are done (D3). */
export const UPGRADE_TAINT = 'fairlead.dev/upgrade-pending';
