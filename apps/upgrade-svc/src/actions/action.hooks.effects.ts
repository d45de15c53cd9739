import { hookFactOf, nextCall } from '@fairlead/domain';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import type { HookCaller } from '@fairlead/service-kit/http';
import { Controller, Inject } from '@nestjs/common';
import { HOOK_CALLER } from '../tokens.js';
import type { RecordAction } from './actions.decider.js';
import type { CallNodeActionHook } from './actions.reconciler.js';
import type { Actions } from './actions.state.js';

/** Calls the hooks before and after the drains of node requests. */
@Controller()
export class ActionHooksEffects {
  constructor(@Inject(HOOK_CALLER) private readonly hooks: HookCaller) {}

  @OnTask('CallNodeActionHook', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 2 * 60_000 })
  async callHook(task: TaskContext<Actions, RecordAction, CallNodeActionHook>): Promise<void> {
    const { uid, requestId, node, point, hook } = task.data;
    const { state, namespace, cluster } = task;
    const moment = { point, node, operation: requestId };
    const call = state.status === 'absent' ? undefined : nextCall(state.hooks, moment)?.call;
    if (call === undefined || call.hook.name !== hook) return;
    const outcome = await this.hooks.ask({ namespace, cluster, uid, requestId }, call, task.signal);
    const about = { uid, requestId, hook, point, node, attempt: call.attempt };
    const fact = hookFactOf('NodeAction', about, outcome);
    await task.record({ type: 'RecordAction', data: { uid, fact } });
  }
}
