import { z } from 'zod';
import type { HookCall } from './hooks.js';
import type { ClusterUid, UpgradeId } from './ids.js';

/** What came of the HTTP call of a hook. */
export type HookReply =
  | { readonly kind: 'answered'; readonly status: number; readonly body?: string }
  | { readonly kind: 'refused' | 'silent'; readonly why: string };

/** What a hook says, as far as it is read. It may come from anyone. */
const Answer = z.object({
  status: z.enum(['Success', 'Failure']),
  retryAfterSeconds: z.int().min(0).max(86_400).optional(),
  message: z.string().optional(),
});

const MESSAGE_MAX = 1_000;
/** How often a hook after a step is asked; one before a step is asked until it lets the step go on. */
const AFTER_ATTEMPTS_MAX = 5;
const FAILED_AGAIN_MAX_MS = 5 * 60_000;
const MS_PER_SECOND = 1_000;

/** What follows from an answer. */
export type HookOutcome =
  | { readonly type: 'HookSucceeded'; readonly message: string }
  | { readonly type: 'HookBlocked'; readonly message: string; readonly nextAttemptAt: string }
  | { readonly type: 'HookFailed'; readonly message: string; readonly nextAttemptAt: string | null };

export interface HookPatience {
  /** RFC 3339. */
  readonly now: string;
  /** No hook is asked again sooner. */
  readonly againAfterMs: number;
}

const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

/** Control characters would end up in terminals. */
const shown = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, MESSAGE_MAX);

const isAfter = ({ point }: HookCall): boolean => point.startsWith('After');

const failed = (call: HookCall, message: string, { now, againAfterMs }: HookPatience): HookOutcome => {
  const isOver = call.hook.failurePolicy === 'Ignore' || (isAfter(call) && call.attempt >= AFTER_ATTEMPTS_MAX);
  const waitMs = Math.max(againAfterMs, Math.min(againAfterMs * 2 ** (call.attempt - 1), FAILED_AGAIN_MAX_MS));
  return { type: 'HookFailed', message, nextAttemptAt: isOver ? null : later(now, waitMs) };
};

const parsed = (body: string): z.output<typeof Answer> | undefined => {
  try {
    return Answer.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
};

/** What a hook's answer means for the step that it is about. */
export const hookOutcomeOf = (call: HookCall, answer: HookReply, patience: HookPatience): HookOutcome => {
  if (answer.kind !== 'answered') return failed(call, shown(answer.why), patience);
  const { status: code, body = '' } = answer;
  if (code < 200 || code > 299) return failed(call, `it answered with the HTTP status ${code}`, patience);
  const said = parsed(body);
  if (said === undefined) return failed(call, 'its answer is not { "status": "Success" } or "Failure"', patience);
  const message = shown(said.message ?? '');
  if (said.status === 'Failure') return failed(call, message === '' ? 'it answered with Failure' : message, patience);
  const waitMs = (said.retryAfterSeconds ?? 0) * MS_PER_SECOND;
  if (waitMs === 0 || isAfter(call)) return { type: 'HookSucceeded', message };
  return { type: 'HookBlocked', message, nextAttemptAt: later(patience.now, Math.max(waitMs, patience.againAfterMs)) };
};

/** Whom a hook is asked about. */
export interface HookSubject {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Present: the moment belongs to this upgrade, and comes again with the next. */
  readonly upgradeId?: UpgradeId;
}

/** The CloudEvent of a call. The same attempt has the same id, also after a crash. */
export const hookRequestOf = (
  { namespace, cluster, uid, upgradeId }: HookSubject,
  { point, node, operation, attempt, hook }: HookCall,
  time: string,
): { readonly id: string; readonly body: string } => {
  const ofUpgrade = upgradeId === undefined ? {} : { upgradeId };
  const ofOperation = operation === undefined ? {} : { operation };
  const id = [uid, ...Object.values({ ...ofUpgrade, ...ofOperation }), point, node ?? '', hook.name, attempt].join('/');
  const about = { point, ...ofUpgrade, ...ofOperation, ...(node === undefined ? {} : { node }), attempt };
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
