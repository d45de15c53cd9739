import { isRefusal } from '@fairlead/contracts';
import {
  HANDLE,
  OnJob,
  type Handle,
  type Job,
  type JobContext,
  type JobLater,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { CleanUp } from './cleanup.process.js';
import { clusters, type CleanUpCluster } from './clusters.decider.js';

const CONFLICT_AGAIN_MS = 1_000;

/** A cluster that could not be created is deleted as by an operator: by the same events, hooks included. */
@Controller()
export class CleanupEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** It calls nothing but the log. */
  @OnJob<CleanUp>('CleanUpCluster', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async cleanUp(
    { namespace, cluster, data: { uid }, cause }: Job<CleanUp>,
    context: Pick<JobContext, 'later'>,
  ): Promise<JobLater | void> {
    const command: CleanUpCluster = { type: 'CleanUpCluster', data: { namespace, cluster, uid } };
    const decided = await this.handle(clusters, { namespace, cluster, context: 'request' }, command, cause);
    return isRefusal(decided) ? context.later(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }
}
