import { parseJsonOrUndefined } from '@fairlead/parsers';
import * as z from 'zod';
import { type EventData, type Fact, holdsStep, type ClusterUid, type UpgradeId } from '@fairlead/contracts';
import type { HookCall, HookFactPrefix, HookFactType } from './hooks.js';

/** The result of an HTTP call to a hook. */
export type HookReply =
  | { readonly kind: 'answered'; readonly status: number; readonly body?: string }
  | { readonly kind: 'refused' | 'silent'; readonly why: string };

/** The parts of a hook's response that are read. The response is untrusted. */
const Answer = z.object({
  status: z.enum(['Success', 'Failure']),
  retryAfterSeconds: z.int().min(0).max(86_400).optional(),
  message: z.string().optional(),
});

/** Maximum length of a response that is read. */
const ANSWER_LENGTH_MAX = 65_536;
const MESSAGE_MAX = 1_000;
/** Maximum attempts for a hook that blocks no step; a blocking hook is called until it lets the step proceed. */
const AFTER_ATTEMPTS_MAX = 5;
const FAILED_AGAIN_MAX_MS = 5 * 60_000;
const MS_PER_SECOND = 1_000;

/** The outcome of a response. */
export type HookOutcome =
  | { readonly type: 'HookSucceeded'; readonly message: string }
  | { readonly type: 'HookBlocked'; readonly message: string; readonly nextAttemptAt: string }
  | { readonly type: 'HookFailed'; readonly message: string; readonly nextAttemptAt: string | null };

export interface HookPatience {
  /** RFC 3339. */
  readonly now: string;
  /** Minimum delay before another call. */
  readonly againAfterMs: number;
}

const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

/** Control characters could reach terminals, and databases reject unpaired surrogates. */
const shown = (text: string): string => text.slice(0, MESSAGE_MAX).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ' ');

const failed = (call: HookCall, message: string, { now, againAfterMs }: HookPatience): HookOutcome => {
  const isOver = call.hook.failurePolicy === 'Ignore' || (!holdsStep(call.point) && call.attempt >= AFTER_ATTEMPTS_MAX);
  const waitMs = Math.max(againAfterMs, Math.min(againAfterMs * 2 ** (call.attempt - 1), FAILED_AGAIN_MAX_MS));
  return { type: 'HookFailed', message, nextAttemptAt: isOver ? null : later(now, waitMs) };
};

const parsed = (body: string): z.output<typeof Answer> | undefined => {
  return Answer.safeParse(parseJsonOrUndefined(body, { lengthMax: ANSWER_LENGTH_MAX })).data;
};

/** What a hook's response means for its step. */
export const hookOutcomeOf = (call: HookCall, answer: HookReply, patience: HookPatience): HookOutcome => {
  if (answer.kind !== 'answered') return failed(call, shown(answer.why), patience);
  const { status: code, body = '' } = answer;
  if (code < 200 || code > 299) return failed(call, `it answered with the HTTP status ${code}`, patience);
  const said = parsed(body);
  if (said === undefined) return failed(call, 'its answer is not { "status": "Success" } or "Failure"', patience);
  const message = shown(said.message ?? '');
  if (said.status === 'Failure') return failed(call, message === '' ? 'it answered with Failure' : message, patience);
  const waitMs = (said.retryAfterSeconds ?? 0) * MS_PER_SECOND;
  if (waitMs === 0 || !holdsStep(call.point)) return { type: 'HookSucceeded', message };
  return { type: 'HookBlocked', message, nextAttemptAt: later(patience.now, Math.max(waitMs, patience.againAfterMs)) };
};

/** The subject of a hook call. */
export interface HookSubject {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Set if the hook point belongs to this upgrade; it is reached again by the next one. */
  readonly upgradeId?: UpgradeId;
  /** Set if the hook point belongs to this request about nodes. */
  readonly requestId?: string;
}

/** The CloudEvent of a call. The same attempt has the same id, even after a crash. */
export const hookRequestOf = (
  { namespace, cluster, uid, upgradeId, requestId }: HookSubject,
  { point, node, operation, attempt, hook }: HookCall,
  time: string,
): { readonly id: string; readonly body: string } => {
  const ofUpgrade = { ...(upgradeId && { upgradeId }), ...(operation && { operation }) };
  const part = requestId === undefined ? ofUpgrade : { requestId };
  const id = [uid, ...Object.values(part), point, node ?? '', hook.name, attempt].join('/');
  const about = { point, ...part, ...(node && { node }), attempt };
  const body = JSON.stringify({
    specversion: '1.0',
    id,
    source: `/ns/${namespace}/clusters/${cluster}`,
    type: `dev.fairlead.hook.${point}`,
    time,
    datacontenttype: 'application/json',
    data: { namespace, cluster, uid, hook: hook.name, ...about },
  });
  return { id, body };
};

/** The fact for an outcome; the prefix selects the fact of the service or request that called the hook. */
export const hookFactOf = <Prefix extends HookFactPrefix>(
  prefix: Prefix,
  about: Omit<EventData<`${Prefix}HookSucceeded`>, 'message'>,
  { type, message, ...next }: HookOutcome,
): Fact<HookFactType<Prefix>> => {
  const cause = { operation: 'call the hook', target: (about as { readonly hook: string }).hook, message };
  const data = type === 'HookFailed' ? { ...about, cause, ...next } : { ...about, message, ...next };
  // The compiler cannot infer that prefix and outcome determine the type of the data.
  return { type: `${prefix}${type}`, data } as unknown as Fact<HookFactType<Prefix>>;
};
