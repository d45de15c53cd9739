import { hookOutcomeOf, hookRequestOf, nextCall } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { askHook, type HookHttp } from '@fairlead/service-kit/http';
import { Controller, Inject } from '@nestjs/common';
import type { Outcome } from '../bootstrap/bootstrap.decider.js';
import type { Step } from '../bootstrap/step.js';
import { HOOK_HTTP, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';

/** Asks the hooks of a cluster. A crash between the call and its record repeats the call with the same id. */
@Controller()
export class HooksEffects {
  constructor(
    @Inject(HOOK_HTTP) private readonly http: HookHttp,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'hookAgainAfterMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CallHook', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 2 * 60_000 })
  async callHook(step: Step): Promise<void> {
    const { uid, hooks } = step.state.cluster;
    const { point, node } = step.data;
    const call = point === undefined ? undefined : nextCall(hooks, { point, node })?.call;
    if (call === undefined || call.hook.name !== step.data.hook) return;
    const { hook, attempt } = call;
    const { namespace, cluster } = step;
    const request = hookRequestOf({ namespace, cluster, uid }, call, this.clock.now().toISOString());
    const answer = await askHook(this.http, hook, request, step.signal);
    const now = this.clock.now().toISOString();
    const { type, message, ...next } = hookOutcomeOf(call, answer, {
      now,
      againAfterMs: this.settings.hookAgainAfterMs,
    });
    const about = { uid, hook: hook.name, point: call.point, ...(node === undefined ? {} : { node }), attempt };
    const cause = { operation: 'call the hook', target: hook.name, message };
    const data = type === 'HookFailed' ? { ...about, cause, ...next } : { ...about, message, ...next };
    await step.record({ type, data } as Outcome);
  }
}
