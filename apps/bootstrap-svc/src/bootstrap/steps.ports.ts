/**
 * Says which steps run now, in all replicas together: so that one never runs twice at a time, and a cluster is taken apart
 * only when nothing works on it. A hold that is not renewed ends by itself.
 */
export interface RunningSteps {
  /** False: another replica (or an earlier delivery) still holds it. */
  hold(uid: string, step: string, holder: string): Promise<boolean>;
  release(uid: string, step: string, holder: string): Promise<void>;
  /** Steps of the cluster that somebody holds, but for this one. */
  others(uid: string, step: string): Promise<readonly string[]>;
}
