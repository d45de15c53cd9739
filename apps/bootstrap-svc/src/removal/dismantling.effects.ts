import { WorldFailure, type ClusterUid } from '@fairlead/contracts';
import { OnTask, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import type { Step } from '../bootstrap/step.js';
import { CLUSTER_ACCESS } from '../bootstrap/tokens.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';

const STEPS_END_AGAIN_MS = 250;

/** Releases what a cluster has outside its machines, once nothing works on it any more. */
@Controller()
export class DismantlingEffects {
  private readonly log = new Logger('dismantling');

  constructor(@Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess) {}

  @OnTask('DismantleCluster', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 5 * 60_000 })
  async dismantle(step: Step): Promise<RequeueAfter | void> {
    const { uid } = step.state.cluster;
    const others = await step.othersAtWork();
    if (others.length > 0) return step.requeueAfter(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
    await this.releaseOutside(step);
    await step.record({ type: 'ClusterDismantled', data: { uid } });
    return undefined;
  }

  @OnTask('DestroySecrets', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 60_000 })
  async destroySecrets({ data }: TaskContext<unknown, never, { uid: ClusterUid }>): Promise<void> {
    await this.clusters.destroy(data.uid);
  }

  /** Once the machines are gone, nothing else would release it. */
  private async releaseOutside(step: Step): Promise<void> {
    const { cluster } = step.state;
    if (cluster.controlPlane === null) return;
    try {
      const api = await this.clusters.of(cluster);
      const released = await api.releaseLoadBalancers();
      if (released > 0) this.log.log(`${cluster.spec.name}: released ${released} load balancers of services`);
    } catch (error) {
      step.signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      this.log.warn(`${cluster.spec.name} is dismantled without asking its API: ${error.message}`);
    }
  }
}
