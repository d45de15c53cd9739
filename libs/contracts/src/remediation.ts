import * as z from 'zod';
import { nodeConditionWords, type NodeCondition } from './node.conditions.js';

/** How an unhealthy node is remediated. */
export const REMEDIATION_ACTIONS = ['reboot', 'replace'] as const;
export const RemediationAction = z.enum(REMEDIATION_ACTIONS);
export type RemediationAction = z.infer<typeof RemediationAction>;

/**
 * Why a node is unhealthy: Kubernetes reports it NotReady or has no Node object for it, its agent is silent, it never
 * became a Ready node, its machine's private address differs from the one with which it joined, or a Node condition
 * matches its health check.
 */
export const UNHEALTHY_CONDITIONS = ['NotReady', 'Lost', 'NotStarted', 'Missing', 'Moved', 'NodeCondition'] as const;
export const UnhealthyCondition = z.enum(UNHEALTHY_CONDITIONS);
export type UnhealthyCondition = z.infer<typeof UnhealthyCondition>;

/** Why no node of a pool is remediated, although one is unhealthy. */
export const SUSPENSION_REASONS = [
  'TooManyUnhealthy',
  'Meltdown',
  'NoQuorum',
  'ControlPlaneChanging',
  'UpgradeInProgress',
  'RestoreInProgress',
] as const;
export const SuspensionReason = z.enum(SUSPENSION_REASONS);
export type SuspensionReason = z.infer<typeof SuspensionReason>;

/** Why an unhealthy node is not remediated, although its pool may be. */
export const SKIPPED_REASONS = [
  'RemediationDisabled',
  'RetriesExhausted',
  'RebootImpossible',
  // Appears in logs from before members of an external etcd could be replaced.
  'NotReplaceable',
] as const;
export const SkipReason = z.enum(SKIPPED_REASONS);
export type SkipReason = z.infer<typeof SkipReason>;

/** How many nodes of a pool are unhealthy, and how many may be. */
export const UnhealthyCount = z.strictObject({
  unhealthy: z.int().min(0),
  total: z.int().min(0),
  limit: z.int().min(0).describe('Most that may be unhealthy for one of them to be remediated'),
  least: z.int().min(1).optional().describe('Least, where the health check gives a range'),
});
export type UnhealthyCount = z.infer<typeof UnhealthyCount>;

/** "2 unhealthy of 3, limit 1". */
export const countSentence = ({ unhealthy, total, limit, least }: UnhealthyCount): string =>
  `${unhealthy} unhealthy of ${total}, ${least === undefined ? `limit ${limit}` : `range ${least} to ${limit}`}`;

const CONDITION_WORDS: Readonly<Record<UnhealthyCondition, string>> = {
  NotReady: 'not Ready',
  Lost: 'without a heartbeat',
  NotStarted: 'not started',
  Missing: 'without a Node object',
  Moved: 'at another private address than the one with which it joined',
  NodeCondition: 'with a condition that its health check names',
};

/** "not Ready since 2026-11-23T10:00:00.000Z". */
export const conditionSentence = (
  condition: UnhealthyCondition,
  since: string,
  nodeCondition?: NodeCondition,
): string =>
  nodeCondition === undefined
    ? `${CONDITION_WORDS[condition]} since ${since}`
    : `unhealthy: its condition ${nodeConditionWords(nodeCondition)} since ${since}`;

export const SKIP_WORDS: Readonly<Record<SkipReason, string>> = {
  RemediationDisabled: 'its health check has remediation none',
  RetriesExhausted: 'remediation did not help as often as its health check allows',
  RebootImpossible: 'its health check allows only a reboot, which no agent could carry out, or which would not help',
  NotReplaceable: 'it held a member of the external etcd, which could not be replaced then',
};

/** Empty if the numbers are sufficient. */
export const SUSPENSION_WORDS: Readonly<Record<SuspensionReason, string>> = {
  TooManyUnhealthy: '',
  Meltdown: ' because more of all nodes look dead than is plausible (rule E1)',
  NoQuorum: ' because etcd needs the others for its quorum',
  ControlPlaneChanging: ' while another control plane joins or leaves',
  UpgradeInProgress: ' while an upgrade is in progress',
  RestoreInProgress: ' while etcd is being restored',
};

/** "2 unhealthy of 3, limit 1: remediation of pool web is suspended". */
export const suspensionSentence = (
  pool: string,
  { reason, ...count }: UnhealthyCount & { readonly reason: SuspensionReason },
): string => `${countSentence(count)}: remediation of pool ${pool} is suspended${SUSPENSION_WORDS[reason]}`;
