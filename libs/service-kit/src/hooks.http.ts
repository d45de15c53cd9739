import { hookTimeoutMs } from '@fairlead/contracts';
import { hookOutcomeOf, hookRequestOf, type HookCall, type HookOutcome, type HookSubject } from '@fairlead/domain';
import type { HttpAnswer, HttpPost } from './checked.http.js';
import type { Clock } from './clock.js';
import { SIGNATURE_HEADER, type HookSigner } from './hook.signature.js';

const ANSWER_BYTES_MAX = 65_536;

/** Calls a URL from a manifest if its address is public or allowed by the administrator. */
export interface HookHttp {
  post(url: string, post: HttpPost, signal: AbortSignal): Promise<HttpAnswer>;
}

interface HookCallerParts {
  readonly http: HookHttp;
  readonly signer: HookSigner;
  readonly clock: Clock;
  /** Minimum delay before another call of the hook. */
  readonly againAfterMs: number;
}

/** Calls hooks. A crash between a call and its record repeats the call with the same id. */
export class HookCaller {
  constructor(private readonly parts: HookCallerParts) {}

  async ask(subject: HookSubject, call: HookCall, signal: AbortSignal): Promise<HookOutcome> {
    const { clock, againAfterMs } = this.parts;
    const answer = await this.answer(subject, call, signal);
    return hookOutcomeOf(call, answer, { now: clock.now().toISOString(), againAfterMs });
  }

  private async answer(subject: HookSubject, call: HookCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { http, signer, clock } = this.parts;
    const { url, caBundle: ca, secretName: name, ...hook } = call.hook;
    const { id, body } = hookRequestOf(subject, call, clock.now().toISOString());
    const { namespace } = subject;
    const signed = name === undefined ? undefined : await signer.sign({ namespace, name }, body);
    // Never unsigned: whoever answers unsigned requests of this hook must not be able to let a step proceed.
    if (signed !== undefined && 'why' in signed) return { kind: 'refused', why: signed.why };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'idempotency-key': id,
      ...(signed === undefined ? {} : { [SIGNATURE_HEADER]: signed.header }),
    };
    const limits = { timeLimitMs: hookTimeoutMs(hook), answerBytesMax: ANSWER_BYTES_MAX };
    return http.post(url, { body, headers, ca, ...limits }, signal);
  }
}
