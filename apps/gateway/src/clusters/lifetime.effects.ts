import { isRefusal } from '@fairlead/contracts';
import { HANDLE, OnTask, type Handle, type RequeueAfter, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { clusters, type EndLifetime } from './clusters.decider.js';
import type { EndOfLifetime } from './lifetime.reconciler.js';

const CONFLICT_AGAIN_MS = 1_000;

/** Who records warnings and deletes a cluster at its end. */
const ACTOR = 'system/lease';

/** Warns of the end of a cluster, and deletes it as an operator would: by the same events, hooks included. */
@Controller()
export class LifetimeEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** It calls nothing but the log. Another replica's clock, by which the task was due, may be ahead. */
  @OnTask('EndLifetime', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async endLifetime(task: TaskOf<EndOfLifetime>): Promise<RequeueAfter | void> {
    const { namespace, cluster, cause } = task;
    const { uid, dueAt } = task.data;
    const clock = this.clock.now().toISOString();
    const now = clock > dueAt ? clock : dueAt;
    const command: EndLifetime = { type: 'EndLifetime', data: { namespace, cluster, uid, now } };
    const stream = { namespace, cluster, context: 'request' };
    const decided = await this.handle(clusters, stream, command, { ...cause, actor: ACTOR });
    return isRefusal(decided) ? task.requeueAfter(CONFLICT_AGAIN_MS, decided.message) : undefined;
  }
}
