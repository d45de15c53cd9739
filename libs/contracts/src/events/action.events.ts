import * as z from 'zod';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName } from '../ids.js';
import { NodeActionKind, PostponedReason, VoidReason } from '../node-actions.js';
import { HOOK_MESSAGE_MAX, hookFields } from './bootstrap.events.js';
import { ReturnedPods } from './drain.events.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const requestId = z.string().describe('Of the NodeActionRequested, or of the DriftRepairRequested with a drain');
const node = NodeName;

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'upgrade-svc', context: 'rollout', doc, data });

const one = { uid, requestId, action: NodeActionKind, node };

/** Which hook was called, and for the drain of which node. */
const ofHook = { ...hookFields, requestId, node };

/**
 * Node actions that users request, and their outcomes. In the stream of rollouts, so that an upgrade and an action
 * cannot start at the same time.
 */
export const actionEvents = {
  NodeActionRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The reboot, drain, cordon, uncordon or repair of nodes was requested.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      action: NodeActionKind,
      nodes: z.array(node).min(1).max(500).describe('In the order in which they begin'),
      reason: z.string().describe('Why, in the words of whoever asked; empty: not given'),
      drain: z.boolean().describe('Of a reboot or a repair: whether the node is drained before'),
      drainTimeoutSeconds: z.int().min(0).describe('How long pods may take to leave; 0: as long as it takes'),
      maxUnavailable: z.int().min(1).describe('How many workers at a time; control planes go one at a time'),
      expiresAt: z.iso.datetime().describe('No node begins after it'),
    }),
  }),
  NodeActionCancelled: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A request about nodes was cancelled: no further node is started, and what was started is undone where possible.',
    data: z.strictObject({ uid, requestId, reason: z.string() }),
  }),
  NodeActionStarted: fact('The turn of the node has come.', z.strictObject(one)),
  NodeActionPostponed: fact(
    'The node cannot begin yet; stated once until it does or the reason is another one.',
    z.strictObject({ ...one, reason: PostponedReason }),
  ),
  NodeActionHookBlocked: fact(
    'A hook asked for more time: the node is not cordoned and drained yet, and the hook is asked again.',
    z.strictObject({ ...ofHook, message: z.string().max(HOOK_MESSAGE_MAX), nextAttemptAt: z.iso.datetime() }),
  ),
  NodeActionHookSucceeded: fact(
    'A hook before or after a drain that was requested has answered with Success.',
    z.strictObject({ ...ofHook, message: z.string().max(HOOK_MESSAGE_MAX) }),
  ),
  NodeActionHookFailed: fact(
    'A hook before or after a drain that was requested has failed or did not answer in time.',
    z.strictObject({
      ...ofHook,
      cause: Cause,
      nextAttemptAt: z.iso
        .datetime()
        .nullable()
        .describe('When it is asked again; null: it is ignored, or an after-hook that has had its attempts'),
    }),
  ),
  NodeActionCordoned: fact(
    'The node is cordoned; byRequest states whether this request cordoned it, and therefore uncordons it.',
    z.strictObject({ ...one, byRequest: z.boolean() }),
  ),
  NodeActionEvictionRefused: fact(
    'Kubernetes refused to evict pods; recorded when the set of refusals changes, not for each attempt.',
    z.strictObject({
      ...one,
      budget: z.string().nullable().describe('namespace/name of the PodDisruptionBudget; null: another reason'),
      pods: z.array(z.string()).min(1).describe('namespace/name'),
      message: z.string(),
    }),
  ),
  NodeActionDrained: fact(
    'Every pod that must leave has left the node.',
    z.strictObject({
      ...one,
      evictedPods: z.int().min(0),
      tookMs: z.int().min(0),
      returned: ReturnedPods.optional(),
    }),
  ),
  NodeActionUncordoned: fact(
    'The node was uncordoned.',
    z.strictObject({ ...one, cordonedBy: z.string().describe('The request whose cordon this was') }),
  ),
  NodeActionSucceeded: fact(
    'What was asked of the node is done, and after a reboot it is Ready again.',
    z.strictObject({ ...one, tookMs: z.int().min(0) }),
  ),
  NodeActionFailed: fact(
    'What was asked of the node could not be done; no further node of the request begins.',
    z.strictObject({ ...one, cause: Cause }),
  ),
  NodeActionVoided: fact(
    'The node is left as it is, and nothing more is done for the request on it.',
    z.strictObject({ ...one, reason: VoidReason }),
  ),
} as const;
