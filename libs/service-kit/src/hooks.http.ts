import {
  hookOutcomeOf,
  hookRequestOf,
  hookTimeoutMs,
  type HookCall,
  type HookOutcome,
  type HookSubject,
} from '@fairlead/contracts';
import type { HttpAnswer, HttpPost } from './checked.http.js';
import type { Clock } from './clock.js';

const ANSWER_BYTES_MAX = 65_536;

/** Asks a URL of a manifest, if its address is public or allowed by the administrator. */
export interface HookHttp {
  post(url: string, post: HttpPost, signal: AbortSignal): Promise<HttpAnswer>;
}

/** Asks hooks. A crash between a call and its record repeats the call with the same id. */
export class HookCaller {
  constructor(
    private readonly http: HookHttp,
    private readonly clock: Clock,
    /** No hook is asked again sooner. */
    private readonly againAfterMs: number,
  ) {}

  async ask(subject: HookSubject, call: HookCall, signal: AbortSignal): Promise<HookOutcome> {
    const { url, caBundle: ca, ...hook } = call.hook;
    const { id, body } = hookRequestOf(subject, call, this.now());
    const headers = { 'content-type': 'application/json', accept: 'application/json', 'idempotency-key': id };
    const limits = { timeLimitMs: hookTimeoutMs(hook), answerBytesMax: ANSWER_BYTES_MAX };
    const answer = await this.http.post(url, { body, headers, ca, ...limits }, signal);
    return hookOutcomeOf(call, answer, { now: this.now(), againAfterMs: this.againAfterMs });
  }

  private now(): string {
    return this.clock.now().toISOString();
  }
}
