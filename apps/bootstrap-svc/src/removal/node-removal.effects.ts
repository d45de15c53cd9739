import { WorldFailure } from '@fairlead/contracts';
import { OnJob, type JobContext, type JobLater } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import { Controller, Inject, Logger } from '@nestjs/common';
import { isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, type Step, type StepData, type StepJob, type StepRunner } from '../bootstrap/step.runner.js';
import { CLUSTER_ACCESS, HOST_ACCESS, SETTINGS, STEP_RUNNER } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { leaveEtcd } from '../control-plane/etcd.members.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { Evicted, KubernetesCluster } from '../kubernetes/kubernetes.ports.js';

const STEPS_END_AGAIN_MS = 500;

/** Takes nodes out of their clusters. A host that is dead does not stop it. */
@Controller()
export class NodeRemovalEffects {
  private readonly log = new Logger('removal');

  constructor(
    @Inject(STEP_RUNNER) private readonly runner: StepRunner,
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'drainLimitMs'>,
  ) {}

  @OnJob<StepData>('RemoveNode', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  removeNode(job: StepJob, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (step) => {
      const { uid } = step.state;
      const host = hostOf(step);
      const { name } = host.machine;
      const others = await this.runner.othersOn(name, step);
      // A node that is still joining would come back after it was removed.
      if (others.length > 0) return context.later(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
      const cluster = await this.clusters.of(step.state);
      if (host.removal === 'wanted') {
        const { dead, evictedPods } = await this.drain(cluster, name, step);
        await step.record({ type: 'NodeDrained', data: { uid, node: name, evictedPods, dead } });
      }
      if (isControlPlane(host)) await leaveEtcd(this.hosts, step, host);
      await this.reset(step, host);
      await cluster.deleteNode(name);
      await step.record({ type: 'NodeRemoved', data: { uid, node: name } });
      return undefined;
    });
  }

  /** A node that is not Ready has nobody on it who could end pods: it is dead to Kubernetes, and is not waited for. */
  private async drain(cluster: KubernetesCluster, name: string, { signal }: Step): Promise<Evicted> {
    const node = (await cluster.nodes()).find((candidate) => candidate.name === name);
    if (node === undefined) return { dead: true, evictedPods: 0 };
    await cluster.cordon(name);
    if (!node.ready) return { dead: true, evictedPods: 0 };
    return cluster.drain(name, { deadlineMs: this.settings.drainLimitMs, signal });
  }

  /** Its machine goes anyway; a host that comes from a stock is better given back clean. */
  private async reset(step: Step, host: Host): Promise<void> {
    try {
      await this.hosts.onIfAlive(host, step, (worker) =>
        worker.run(renderStep('kubeadm-reset', { removeAgent: true, of: step.state.uid })),
      );
    } catch (error) {
      step.signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      this.log.warn(`${host.machine.name} is removed without being reset: ${error.message}`);
    }
  }
}
