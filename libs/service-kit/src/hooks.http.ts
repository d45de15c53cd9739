import { hookTimeoutMs, type Hook } from '@fairlead/contracts';
import type { HttpAnswer, HttpPost } from './checked.http.js';

const ANSWER_BYTES_MAX = 65_536;

/** Asks a URL of a manifest, if its address is public or allowed by the administrator. */
export interface HookHttp {
  post(url: string, post: HttpPost, signal: AbortSignal): Promise<HttpAnswer>;
}

/** Asks a hook. A repeated call has the same id. */
export const askHook = (
  http: HookHttp,
  hook: Hook,
  { id, body }: { readonly id: string; readonly body: string },
  signal: AbortSignal,
): Promise<HttpAnswer> =>
  http.post(
    hook.url,
    {
      body,
      headers: { 'content-type': 'application/json', accept: 'application/json', 'idempotency-key': id },
      ca: hook.caBundle,
      timeLimitMs: hookTimeoutMs(hook),
      answerBytesMax: ANSWER_BYTES_MAX,
    },
    signal,
  );
