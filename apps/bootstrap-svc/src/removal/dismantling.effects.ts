import { WorldFailure, type ClusterUid, type StoredEvent } from '@fairlead/contracts';
import { OnEvent, OnJob, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Logger } from '@nestjs/common';
import type { RunningSteps } from '../bootstrap/steps.ports.js';
import type { Step, StepData, StepJob, StepRunner } from '../bootstrap/step.runner.js';
import { CLUSTER_ACCESS, RUNNING_STEPS, STEP_RUNNER } from '../bootstrap/tokens.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';

const STEPS_END_AGAIN_MS = 250;

/** Ends what runs for a cluster that failed or shall go, and releases what a cluster holds outside its machines. */
@Controller()
export class DismantlingEffects {
  private readonly log = new Logger('dismantling');

  constructor(
    @Inject(STEP_RUNNER) private readonly runner: StepRunner,
    @Inject(RUNNING_STEPS) private readonly steps: RunningSteps,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
  ) {}

  @OnJob<StepData>('DismantleCluster', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 5 * 60_000 })
  dismantle(job: StepJob, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (step) => {
      const { uid } = step.state;
      const others = await this.steps.others(uid, job.type);
      if (others.length > 0) return context.later(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
      await this.releaseOutside(step);
      await step.record({ type: 'ClusterDismantled', data: { uid } });
      return undefined;
    });
  }

  @OnJob<{ uid: ClusterUid }>('DestroySecrets', { attemptsMax: 50, backoffFirstMs: 500, timeoutMs: 60_000 })
  async destroySecrets(job: { readonly data: { readonly uid: ClusterUid } }): Promise<void> {
    await this.clusters.destroy(job.data.uid);
  }

  @OnEvent('ClusterFailed')
  async clusterFailed(event: StoredEvent<'ClusterFailed'>): Promise<void> {
    this.runner.cancel(event);
  }

  @OnEvent('ClusterDeletionRequested')
  async deletionRequested(event: StoredEvent<'ClusterDeletionRequested'>): Promise<void> {
    this.runner.cancel(event);
  }

  @OnEvent('NodesFailed')
  async nodesFailed(event: StoredEvent<'NodesFailed'>): Promise<void> {
    this.runner.cancelOn(event);
  }

  @OnEvent('NodesAbandoned')
  async nodesAbandoned(event: StoredEvent<'NodesAbandoned'>): Promise<void> {
    this.runner.cancelOn(event);
  }

  /** What the cluster holds outside its machines would be forgotten by everybody once the machines are gone. */
  private async releaseOutside(step: Step): Promise<void> {
    const { state } = step;
    if (state.controlPlane === null) return;
    try {
      const cluster = await this.clusters.of(state);
      const released = await cluster.releaseLoadBalancers();
      if (released > 0) this.log.log(`${state.spec.name}: released ${released} load balancers of services`);
    } catch (error) {
      step.signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      this.log.warn(`${state.spec.name} is dismantled without asking its API: ${error.message}`);
    }
  }
}
