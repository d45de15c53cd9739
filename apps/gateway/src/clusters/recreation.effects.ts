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
import { clusters, type RequestCluster } from './clusters.decider.js';
import type { Recreation } from './recreation.process.js';

const CONFLICT_AGAIN_MS = 1_000;

/** Requests a cluster under the name of one that is gone, as its requester did. */
@Controller()
export class RecreationEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** It calls nothing but the log. Connections and quotas were checked when it was requested, and infra-svc checks them again. */
  @OnJob<Recreation>('RecreateCluster', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async recreate(
    { namespace, cluster, data: { uid, spec, requestHash, actor }, cause }: Job<Recreation>,
    context: Pick<JobContext, 'later'>,
  ): Promise<JobLater | void> {
    const data = { namespace, cluster, uid, spec, requestHash, actor, connectionFaults: [] };
    const command: RequestCluster = { type: 'RequestCluster', data };
    const stream = { namespace, cluster, context: 'request' };
    const decided = await this.handle(clusters, stream, command, { ...cause, actor });
    // Any other refusal means that the name was taken meanwhile: there is nothing left to do.
    const isConflict = isRefusal(decided) && decided.code === 'conflict.concurrent';
    return isConflict ? context.later(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }
}
