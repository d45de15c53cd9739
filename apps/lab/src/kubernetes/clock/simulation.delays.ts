/** Durations of simulated operations. */
export interface SimulationDelays {
  /** From the assignment of a pod to its node until it is ready. */
  readonly podStartMs: number;
  /** From a pod's deletion until its containers have stopped, at most its grace period. */
  readonly podStopMs: number;
  /** How long a Job's pod runs before it succeeds. */
  readonly jobRunMs: number;
  /**
   * How long a node may miss heartbeats before it counts as lost (kube-controller-manager's
   * --node-monitor-grace-period).
   */
  readonly nodeMonitorGraceMs: number;
}

export const DEFAULT_DELAYS: SimulationDelays = {
  podStartMs: 300,
  podStopMs: 200,
  jobRunMs: 1_000,
  nodeMonitorGraceMs: 40_000,
};
