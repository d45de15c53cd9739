import * as z from 'zod';

/** Actions that users request on nodes that remain in their cluster. */
export const NODE_ACTIONS = ['reboot', 'drain', 'cordon', 'uncordon', 'repair'] as const;
export const NodeActionKind = z.enum(NODE_ACTIONS);
export type NodeActionKind = z.infer<typeof NodeActionKind>;

/** The participle for an action in progress, as in "is being rebooted". */
export const ACTION_PARTICIPLES: Readonly<Record<NodeActionKind, string>> = {
  reboot: 'rebooted',
  drain: 'drained',
  cordon: 'cordoned',
  uncordon: 'uncordoned',
  repair: 'repaired',
};

/** Whether the agent changes the node. */
export const changesNode = (action: NodeActionKind): boolean => action === 'reboot' || action === 'repair';

/** Whether the node is unavailable meanwhile. */
export const takesDown = (action: NodeActionKind): boolean => action === 'drain' || changesNode(action);

/** Why a node of a request waits for something outside the request. */
export const POSTPONED_REASONS = [
  'AgentAway',
  'NodeChanging',
  'OtherControlPlane',
  'NoQuorum',
  'UpgradeInProgress',
  'RestoreInProgress',
] as const;
export const PostponedReason = z.enum(POSTPONED_REASONS);
export type PostponedReason = z.infer<typeof PostponedReason>;

export const POSTPONED_WORDS: Readonly<Record<PostponedReason, string>> = {
  AgentAway: 'its agent sends no heartbeat',
  NodeChanging: 'it is being replaced, removed or remediated',
  OtherControlPlane: 'another control plane joins or leaves',
  NoQuorum: 'etcd needs it for its quorum',
  UpgradeInProgress: 'an upgrade is in progress',
  RestoreInProgress: 'etcd is being restored',
};

/** Why a node of a request is skipped. */
export const VOID_REASONS = ['BootedSince', 'Expired', 'Cancelled', 'NodeGone', 'EarlierFailed'] as const;
export const VoidReason = z.enum(VOID_REASONS);
export type VoidReason = z.infer<typeof VoidReason>;

export const VOID_WORDS: Readonly<Record<VoidReason, string>> = {
  BootedSince: 'it has booted since the request, which satisfies it',
  Expired: 'the request has expired',
  Cancelled: 'the request was cancelled',
  NodeGone: 'it is no longer part of the cluster',
  EarlierFailed: 'an earlier node of the request failed',
};

/** How long a request waits for a node that cannot be changed, unless the request sets it. */
export const ACTION_EXPIRES_SECONDS = { min: 60, default: 24 * 3_600, max: 30 * 24 * 3_600 } as const;

/** Drain timeout, unless the request sets one; 0: unlimited. */
export const DRAIN_TIMEOUT_SECONDS = { default: 900, max: 7 * 24 * 3_600 } as const;
