import {
  CONTROL_PLANE_POOL,
  DETACH_TIMEOUT_DEFAULT,
  durationMs,
  ExternalFailure,
  type Cause,
} from '@fairlead/contracts';
import { isHeld } from '@fairlead/domain';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { drainNode, rulesFor, type Drained, type Draining } from '@fairlead/kubernetes/drain';
import { renderStep } from '@fairlead/node-scripts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject, Logger } from '@nestjs/common';
import { isBehindBalancer, isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import { hostOf, othersOn, type RunningTask } from '../bootstrap/running.task.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLUSTER_ACCESS, HOST_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { leaveEtcd } from '../control-plane/etcd.members.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { KubernetesCluster } from '../kubernetes/kubernetes.ports.js';

const STEPS_END_AGAIN_MS = 500;
const DRAIN_AGAIN_MS = 1_000;
/** The mark of cordons for a removal. */
export const REMOVAL = 'removal';

const countsOf = ({ evictedPods, dead, leftPods, attachedVolumes, returned }: Drained) => ({
  evictedPods,
  dead,
  ...(leftPods === 0 ? {} : { leftPods }),
  ...(attachedVolumes === 0 ? {} : { attachedVolumes }),
  ...(returned.length === 0 ? {} : { returned: [...returned] }),
});

/** Removes nodes from their clusters, including nodes with a dead host. */
@Controller()
export class NodeRemovalEffects {
  private readonly log = new Logger('removal');

  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'drainLimitMs' | 'nodeDeletionTimeoutMs' | 'lookEveryMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('RemoveNode', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 30 * 60_000 })
  async removeNode(step: RunningTask): Promise<RequeueAfter | void> {
    const { uid } = step.state.cluster;
    const host = hostOf(step);
    const { name } = host.machine;
    const others = await othersOn(name, step);
    // A node that is still joining would return after its removal.
    if (others.length > 0) return step.requeueAfter(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
    const api = await this.clusters.of(step.state.cluster);
    if (host.removal === 'desired') {
      const begunAt = this.clock.now().toISOString();
      const drained = await this.drain(api, host, step);
      if (drained.outcome === 'waiting') return this.goOn(step, drained, begunAt);
      const after = await step.record({ type: 'NodeDrained', data: { uid, node: name, ...countsOf(drained) } });
      // Continues as soon as no API requests reach it.
      if (after.status === 'absent') return undefined;
      // A user cancelled its removal before its drain had ended.
      if (after.cluster.hosts[name]?.removal !== 'drained') return undefined;
      if (isControlPlane(host) && isBehindBalancer(after.cluster, host)) return undefined;
      // Continues when the hooks have succeeded.
      if (isHeld(after.cluster.hooks, { point: 'BeforeNodeDelete', node: name })) return undefined;
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

  @OnTask('KeepNode', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 5 * 60_000 })
  async keepNode(step: RunningTask): Promise<RequeueAfter | void> {
    const { uid } = step.state.cluster;
    const { name, pool } = hostOf(step).machine;
    const others = await othersOn(name, step);
    // A drain that is still ending could cordon it again.
    if (others.length > 0) return step.requeueAfter(STEPS_END_AGAIN_MS, `${others.join(', ')} still end`);
    const api = await this.clusters.of(step.state.cluster);
    await api.uncordon(name, REMOVAL);
    await step.record({ type: 'NodeRemovalCancelled', data: { uid, node: name, pool } });
    return undefined;
  }

  /**
   * Its machine is deleted even if Kubernetes does not delete its Node in time: the remaining Node is reported as one
   * without a machine.
   */
  private async deleteNode(api: KubernetesCluster, name: string, { signal }: RunningTask): Promise<Cause | undefined> {
    const { nodeDeletionTimeoutMs, lookEveryMs } = this.settings;
    const deadline = Date.now() + nodeDeletionTimeoutMs;
    for (;;) {
      try {
        await api.deleteNode(name);
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ExternalFailure) || nodeDeletionTimeoutMs === 0) throw error;
        if (Date.now() >= deadline) return error.toCause();
      }
      await sleep(lookEveryMs, undefined, { signal });
    }
  }

  private async drain(api: KubernetesCluster, host: Host, { signal, state }: RunningTask): Promise<Drained | Draining> {
    const { machine, drainingSince } = host;
    const { drain: policy = {}, runStartedAt } = state.cluster;
    await api.cordon(machine.name, REMOVAL, { leaving: true });
    const { drainLimitMs: sliceMs, lookEveryMs: everyMs } = this.settings;
    // A pause does not count.
    const since =
      [drainingSince, runStartedAt]
        .filter((at) => at !== undefined)
        .toSorted()
        .at(-1) ?? runStartedAt;
    const passedMs = drainingSince === undefined ? 0 : this.clock.now().getTime() - Date.parse(since);
    return drainNode(api, machine.name, {
      mark: REMOVAL,
      isReported: drainingSince !== undefined,
      rules: rulesFor(policy, isControlPlane(host) ? CONTROL_PLANE_POOL : machine.pool),
      sliceMs,
      remainingMs: policy.timeout === undefined ? undefined : durationMs(policy.timeout) - passedMs,
      detachMs: durationMs(policy.detachTimeout ?? DETACH_TIMEOUT_DEFAULT),
      everyMs,
      signal,
    });
  }

  /** Recorded once; then waits until its pods are gone, or the timeout has passed. */
  private async goOn(step: RunningTask, { left, pods }: Draining, begunAt: string): Promise<RequeueAfter> {
    const { machine, drainingSince: since = begunAt } = hostOf(step);
    const { uid } = step.state.cluster;
    await step.record({ type: 'NodeDrainBlocked', data: { uid, node: machine.name, since, left, pods: [...pods] } });
    return step.requeueAfter(DRAIN_AGAIN_MS, `${left} pods are left on ${machine.name}`);
  }

  /** Its machine is removed in any case; a host of a stock should be returned clean. */
  private async reset(step: RunningTask, host: Host): Promise<void> {
    try {
      await this.hosts.onIfAlive(host, step, (worker) =>
        worker.run(renderStep('kubeadm-reset', { removeAgent: true, of: step.state.cluster.uid })),
      );
    } catch (error) {
      step.signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      this.log.warn(`${host.machine.name} is removed without being reset: ${error.message}`);
    }
  }
}
