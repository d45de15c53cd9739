import { heartbeatSubject, ExternalFailure } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import { sayToNode } from '../desired/decisions.js';
import { rebootOf } from '../desired/node.change.js';
import { HeartbeatListener } from '../health/heartbeats.listener.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { CLUSTER_ACCESS, SETTINGS } from '../tokens.js';
import { conditionDoubt, doubtOf } from './confirmation.planner.js';
import type { RequestRemediation } from './remediation.decider.js';
import type { ConfirmUnhealthy, RebootNode } from './remediation.reconciler.js';
import type { Remediation } from './remediation.state.js';

/** Delay before a node that may be healthy is checked again. */
const AGAIN_MS = 5_000;

type Context<Data extends ConfirmUnhealthy | RebootNode> = TaskContext<Remediation, RequestRemediation, Data>;

/**
 * Checks a node once more before its remediation, and requests a reboot from its agent. infra-svc and bootstrap-svc
 * carry out replacements.
 */
@Controller()
export class RemediationEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(HeartbeatListener) private readonly heartbeats: HeartbeatListener,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'nodeLostAfterMs'>,
  ) {}

  /**
   * After downtime, the service reads old events: a node that the log reports as unhealthy may have recovered long ago.
   */
  @OnTask('ConfirmUnhealthy', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async confirmUnhealthy(task: Context<ConfirmUnhealthy>): Promise<RequeueAfter | undefined> {
    const { uid, node } = task.data;
    const doubt = await this.doubt(task);
    if (doubt !== undefined) return task.requeueAfter(AGAIN_MS, doubt);
    await task.record({ type: 'RequestRemediation', data: { uid, node, now: this.heartbeats.now() } });
    return undefined;
  }

  private async doubt(task: Context<ConfirmUnhealthy>): Promise<string | undefined> {
    const { namespace, cluster, data, signal, state } = task;
    const { uid, node, condition, nodeCondition } = data;
    try {
      const api = await this.clusters.of(uid, cluster);
      const view = await api.node(node);
      if (nodeCondition !== undefined) return conditionDoubt(nodeCondition, view);
      return doubtOf(condition, {
        kubernetes: view === undefined ? 'absent' : view.ready ? 'ready' : 'not-ready',
        internalIp: view?.internalIp ?? null,
        machineIp: state.status === 'absent' ? null : (state.members[node]?.movedTo ?? null),
        nowMs: performance.now(),
        listeningSinceMs: this.heartbeats.sinceMs,
        heardAtMs: this.heartbeats.heardAt(heartbeatSubject(namespace, cluster, node)),
        limitMs: this.settings.nodeLostAfterMs,
      });
    } catch (error) {
      signal.throwIfAborted();
      // E6: without an API server the state is unknown, so nothing is done.
      if (error instanceof ExternalFailure) return `the Kubernetes API does not answer: ${error.message}`;
      throw error;
    }
  }

  @OnTask('RebootNode', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async rebootNode(task: Context<RebootNode>): Promise<void> {
    const { uid, node, requestId } = task.data;
    await sayToNode(this.handle, task, node, {
      type: 'AskForChange',
      data: { uid, node, change: rebootOf(requestId) },
    });
  }

  @OnTask('WithdrawReboot', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async withdrawReboot(task: Context<RebootNode>): Promise<void> {
    const { uid, node, requestId: change } = task.data;
    await sayToNode(this.handle, task, node, { type: 'WithdrawPermission', data: { uid, node, change } });
  }
}
