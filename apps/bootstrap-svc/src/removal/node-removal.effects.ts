import { WorldFailure, type Cause } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { drainNode, type Drained } from '@fairlead/kubernetes/drain';
import { renderStep } from '@fairlead/node-scripts';
import { Controller, Inject, Logger } from '@nestjs/common';
import { isBehindBalancer, isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, othersOn, type Step } from '../bootstrap/step.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLUSTER_ACCESS, HOST_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { leaveEtcd } from '../control-plane/etcd.members.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { KubernetesCluster } from '../kubernetes/kubernetes.ports.js';

const STEPS_END_AGAIN_MS = 500;
/** Under this mark a node that leaves is cordoned. */
const REMOVAL = 'removal';

/** Takes nodes out of their clusters. A host that is dead does not stop it. */
@Controller()
export class NodeRemovalEffects {
  private readonly log = new Logger('removal');

  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'drainLimitMs' | 'nodeDeletionTimeoutMs' | 'lookEveryMs'>,
  ) {}

  @OnTask('RemoveNode', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  async removeNode(step: Step): Promise<RequeueAfter | void> {
    const { uid } = step.state.cluster;
    const host = hostOf(step);
    const { name } = host.machine;
    const others = await othersOn(name, step);
    // A node that is still joining would come back after it was removed.
    if (others.length > 0) return step.requeueAfter(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
    const api = await this.clusters.of(step.state.cluster);
    if (host.removal === 'desired') {
      const { dead, evictedPods } = await this.drain(api, name, step);
      const after = await step.record({ type: 'NodeDrained', data: { uid, node: name, evictedPods, dead } });
      // It goes on as soon as no request to the API reaches it.
      if (isControlPlane(host) && after.status !== 'absent' && isBehindBalancer(after.cluster, host)) return undefined;
    }
    if (isControlPlane(host)) await leaveEtcd(this.hosts, step, host);
    await this.reset(step, host);
    const undeleted = await this.deleteNode(api, name, step);
    await step.record({
      type: 'NodeRemoved',
      data: { uid, node: name, ...(undeleted === undefined ? {} : { undeleted }) },
    });
    return undefined;
  }

  /** Its machine goes although Kubernetes does not delete its Node in time: what stays there is reported as a Node without a machine. */
  private async deleteNode(api: KubernetesCluster, name: string, { signal }: Step): Promise<Cause | undefined> {
    const { nodeDeletionTimeoutMs, lookEveryMs } = this.settings;
    const deadline = Date.now() + nodeDeletionTimeoutMs;
    for (;;) {
      try {
        await api.deleteNode(name);
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof WorldFailure) || nodeDeletionTimeoutMs === 0) throw error;
        if (Date.now() >= deadline) return error.toCause();
      }
      await sleep(lookEveryMs, undefined, { signal });
    }
  }

  private async drain(api: KubernetesCluster, name: string, { signal }: Step): Promise<Drained> {
    await api.cordon(name, REMOVAL, { leaving: true });
    const { drainLimitMs: deadlineMs, lookEveryMs: everyMs } = this.settings;
    return drainNode(api, name, { deadlineMs, everyMs, signal });
  }

  /** Its machine goes anyway; a host that comes from a stock is better given back clean. */
  private async reset(step: Step, host: Host): Promise<void> {
    try {
      await this.hosts.onIfAlive(host, step, (worker) =>
        worker.run(renderStep('kubeadm-reset', { removeAgent: true, of: step.state.cluster.uid })),
      );
    } catch (error) {
      step.signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      this.log.warn(`${host.machine.name} is removed without being reset: ${error.message}`);
    }
  }
}
