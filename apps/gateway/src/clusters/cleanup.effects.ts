import { isRefusal } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { CleanUp } from './cleanup.reconciler.js';
import { clusters, type CleanUpCluster } from './clusters.decider.js';

const CONFLICT_AGAIN_MS = 1_000;

/** A cluster that could not be created is deleted as by an operator: by the same events, hooks included. */
@Controller()
export class CleanupEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** It calls nothing but the log. */
  @OnTask('CleanUpCluster', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async cleanUp({
    namespace,
    cluster,
    data: { uid },
    cause,
    requeueAfter,
  }: TaskOf<CleanUp>): Promise<RequeueAfter | void> {
    const command: CleanUpCluster = { type: 'CleanUpCluster', data: { namespace, cluster, uid } };
    const decided = await this.handle(clusters, { namespace, cluster, context: 'request' }, command, cause);
    return isRefusal(decided) ? requeueAfter(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }
}
