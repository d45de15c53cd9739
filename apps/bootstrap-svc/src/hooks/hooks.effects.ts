import { hookFactOf, nextCall } from '@fairlead/domain';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import type { HookCaller } from '@fairlead/service-kit/http';
import { Controller, Inject } from '@nestjs/common';
import type { RunningTask } from '../bootstrap/running.task.js';
import { HOOK_CALLER } from '../bootstrap/tokens.js';

/** Calls the hooks of a cluster. */
@Controller()
export class HooksEffects {
  constructor(@Inject(HOOK_CALLER) private readonly hooks: HookCaller) {}

  @OnTask('CallHook', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 2 * 60_000 })
  async callHook(step: RunningTask): Promise<void> {
    const { uid, hooks } = step.state.cluster;
    const { point, node } = step.data;
    const call = point === undefined ? undefined : nextCall(hooks, { point, node })?.call;
    if (call === undefined || call.hook.name !== step.data.hook) return;
    const { namespace, cluster } = step;
    const outcome = await this.hooks.ask({ namespace, cluster, uid }, call, step.signal);
    const about = { uid, hook: call.hook.name, point: call.point, ...(node && { node }), attempt: call.attempt };
    await step.record(hookFactOf('', about, outcome));
  }
}
