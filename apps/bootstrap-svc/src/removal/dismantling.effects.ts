import { OUTSIDE_LEFT_MAX, OUTSIDE_NAME_MAX, ExternalFailure, type ClusterUid } from '@fairlead/contracts';
import { OnTask, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import { RELEASE_TIMEOUT_MAX_MS, type Settings } from '../config.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';

const STEPS_END_AGAIN_MS = 250;

/** Releases the external resources of a cluster, once all other work on it has ended. */
@Controller()
export class DismantlingEffects {
  private readonly log = new Logger('dismantling');

  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'releaseTimeoutMs' | 'lookEveryMs'>,
  ) {}

  @OnTask('DismantleCluster', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 2 * RELEASE_TIMEOUT_MAX_MS })
  async dismantle(step: RunningTask): Promise<RequeueAfter | void> {
    const { uid } = step.state.cluster;
    const others = await step.othersAtWork();
    if (others.length > 0) return step.requeueAfter(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
    const left = await this.releaseOutside(step);
    await step.record({ type: 'ClusterDismantled', data: { uid, ...(left.length === 0 ? {} : { left }) } });
    return undefined;
  }

  @OnTask('DestroySecrets', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 60_000 })
  async destroySecrets({ data }: TaskContext<unknown, never, { uid: ClusterUid }>): Promise<void> {
    await this.clusters.destroy(data.uid);
  }

  /**
   * After the deletion of the machines nothing else would release them. Resolves to the resources that the cluster did
   * not release in time, as far as known.
   */
  private async releaseOutside({ state: { cluster }, signal }: RunningTask): Promise<string[]> {
    if (cluster.controlPlane === null) return [];
    const { releaseTimeoutMs, lookEveryMs } = this.settings;
    const deadline = Date.now() + releaseTimeoutMs;
    let left: readonly string[] = [];
    try {
      const api = await this.clusters.of(cluster);
      for (;;) {
        left = await api.releaseOutside();
        if (left.length === 0 || Date.now() >= deadline) break;
        await sleep(lookEveryMs, undefined, { signal });
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      this.log.warn(`${cluster.spec.name} is dismantled without asking its API: ${error.message}`);
    }
    return left.slice(0, OUTSIDE_LEFT_MAX).map((name) => name.slice(0, OUTSIDE_NAME_MAX));
  }
}
