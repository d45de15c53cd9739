import { hookTimeoutMs, nextCall, type HookCall } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { Outcome } from '../bootstrap/bootstrap.decider.js';
import type { Step } from '../bootstrap/step.js';
import { HOOK_HTTP, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { outcomeOf } from './hook.answers.js';
import type { HookHttp } from './hooks.ports.js';

const ANSWER_BYTES_MAX = 65_536;

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
    const id = [uid, point, node ?? '', hook.name, attempt].join('/');
    const answer = await this.http.post(
      hook.url,
      {
        body: bodyOf(step, call, { id, time: this.clock.now().toISOString() }),
        headers: { 'content-type': 'application/json', accept: 'application/json', 'idempotency-key': id },
        ca: hook.caBundle,
        timeLimitMs: hookTimeoutMs(hook),
        answerBytesMax: ANSWER_BYTES_MAX,
      },
      step.signal,
    );
    const now = this.clock.now().toISOString();
    const { type, message, ...next } = outcomeOf(call, answer, { now, againAfterMs: this.settings.hookAgainAfterMs });
    const about = { uid, hook: hook.name, point: call.point, ...(node === undefined ? {} : { node }), attempt };
    const cause = { operation: 'call the hook', target: hook.name, message };
    const data = type === 'HookFailed' ? { ...about, cause, ...next } : { ...about, message, ...next };
    await step.record({ type, data } as Outcome);
  }
}

const bodyOf = (
  { namespace, cluster, state }: Step,
  { point, node, attempt, hook }: HookCall,
  { id, time }: { readonly id: string; readonly time: string },
): string =>
  JSON.stringify({
    specversion: '1.0',
    id,
    source: `/ns/${namespace}/clusters/${cluster}`,
    type: `dev.fairlead.hook.${point}`,
    time,
    datacontenttype: 'application/json',
    data: {
      namespace,
      cluster,
      uid: state.cluster.uid,
      hook: hook.name,
      point,
      ...(node === undefined ? {} : { node }),
      attempt,
    },
  });
