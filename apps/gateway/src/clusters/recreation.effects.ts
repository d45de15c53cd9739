import { isRefusal } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { clusters, type RequestCluster } from './clusters.decider.js';
import type { Recreation } from './recreation.reconciler.js';

const CONFLICT_AGAIN_MS = 1_000;

/** Requests a cluster under the name of one that is gone, as its requester did. */
@Controller()
export class RecreationEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** It calls nothing but the log. Connections and quotas were checked when it was requested, and infra-svc checks them again. */
  @OnTask('RecreateCluster', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async recreate(task: TaskOf<Recreation>): Promise<RequeueAfter | void> {
    const { namespace, cluster, cause } = task;
    const { uid, spec, requestHash, actor } = task.data;
    const data = { namespace, cluster, uid, spec, requestHash, actor, connectionFaults: [] };
    const command: RequestCluster = { type: 'RequestCluster', data };
    const stream = { namespace, cluster, context: 'request' };
    const decided = await this.handle(clusters, stream, command, { ...cause, actor });
    // Any other refusal means that the name was taken meanwhile: there is nothing left to do.
    const isConflict = isRefusal(decided) && decided.code === 'conflict.concurrent';
    return isConflict ? task.requeueAfter(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }
}
