import { hookOutcomeOf, hookRequestOf, nextCall } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { askHook, type HookHttp } from '@fairlead/service-kit/http';
import { Controller, Inject } from '@nestjs/common';
import type { Settings } from '../config.js';
import { recordFacts, viewOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { CallHook } from '../rollout/rollout.tasks.js';
import { HOOK_HTTP, SETTINGS } from '../tokens.js';
import { hookFact } from './hook.facts.js';

/** Asks the hooks of an upgrade. A crash between the call and its record repeats the call with the same id. */
@Controller()
export class HooksEffects {
  constructor(
    @Inject(HOOK_HTTP) private readonly http: HookHttp,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'hookAgainAfterMs'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('CallHook', { attemptsMax: 5, backoffFirstMs: 2_000, timeoutMs: 2 * 60_000 })
  async callHook(task: RolloutContext<CallHook>): Promise<void> {
    const { uid, upgradeId, point, node, during: operation } = task.data;
    const moment = { point, ...(node && { node }), ...(operation && { operation }) };
    const call = nextCall(viewOf(task).cluster.hooks, moment)?.call;
    if (call === undefined || call.hook.name !== task.data.hook) return;
    const { hook, attempt } = call;
    const { namespace, cluster } = task;
    const request = hookRequestOf({ namespace, cluster, uid, upgradeId }, call, this.clock.now().toISOString());
    const answer = await askHook(this.http, hook, request, task.signal);
    const now = this.clock.now().toISOString();
    const outcome = hookOutcomeOf(call, answer, { now, againAfterMs: this.settings.hookAgainAfterMs });
    const about = { uid, upgradeId, hook: hook.name, ...moment, attempt };
    await recordFacts(task, this.clock, hookFact(about, outcome));
  }
}
