import { hookFactOf, nextCall } from '@fairlead/domain';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import type { HookCaller } from '@fairlead/service-kit/http';
import { Controller, Inject } from '@nestjs/common';
import { recordFacts, viewOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { CallHook } from '../rollout/rollout.tasks.js';
import { HOOK_CALLER } from '../tokens.js';

/** Calls the hooks of an upgrade. */
@Controller()
export class HooksEffects {
  constructor(
    @Inject(HOOK_CALLER) private readonly hooks: HookCaller,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CallHook', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 2 * 60_000 })
  async callHook(task: RolloutContext<CallHook>): Promise<void> {
    const { uid, upgradeId, point, node, during: operation } = task.data;
    const moment = { point, ...(node && { node }), ...(operation && { operation }) };
    const call = nextCall(viewOf(task).cluster.hooks, moment)?.call;
    if (call === undefined || call.hook.name !== task.data.hook) return;
    const { namespace, cluster } = task;
    const outcome = await this.hooks.ask({ namespace, cluster, uid, upgradeId }, call, task.signal);
    const about = { uid, upgradeId, hook: call.hook.name, ...moment, attempt: call.attempt };
    await recordFacts(task, this.clock, hookFactOf('Upgrade', about, outcome));
  }
}
