import type { UpgradeRule } from './upgrades.js';

/**
 * Why a rollout waits, skips a node, fails or halts: the sentences of its events, and what an operator does about each.
 */

interface ReasonDefinition {
  readonly sentence: string;
  readonly help: string;
}

interface PauseDefinition extends ReasonDefinition {
  readonly by: 'user' | 'probe' | 'window' | 'gate';
  readonly rule: UpgradeRule | null;
}

const ENDS_BY_ITSELF = 'The rollout resumes by itself.';

/** The reasons of RolloutPaused. */
export const PAUSE_REASONS = {
  user: {
    by: 'user',
    rule: null,
    sentence: '{reason}',
    help: 'An operator paused it: "fairlead upgrade resume <cluster>".',
  },
  probe: {
    by: 'probe',
    rule: null,
    sentence: '{probe} does not answer {node}: {message}',
    help: 'Fix the service, then "fairlead upgrade resume <cluster>". A probe that fails at that moment does not pause the rollout again.',
  },
  'no-probes': {
    by: 'gate',
    rule: null,
    sentence: 'its probes could not be started: {message}',
    help: `No node is changed unwatched. ${ENDS_BY_ITSELF} Or end it: "fairlead upgrade abort <cluster>".`,
  },
  window: {
    by: 'window',
    rule: 'D7',
    sentence: 'the next window opens at {opensAt}',
    help: ENDS_BY_ITSELF,
  },
  'in-progress': {
    by: 'gate',
    rule: 'B1',
    sentence: '{operations} (B1)',
    help: `${ENDS_BY_ITSELF} "fairlead cluster describe <cluster>" shows what is in progress.`,
  },
  meltdown: {
    by: 'gate',
    rule: 'E1',
    sentence: '{dead} of {nodes} nodes look dead, which more likely means that Fairlead cannot see them (E1)',
    help: `Check the network between Fairlead and the nodes. ${ENDS_BY_ITSELF}`,
  },
  budget: {
    by: 'gate',
    rule: 'D2',
    sentence: '{nodes} are away, and only {atOnce} nodes of the pool may be (D2)',
    help: `Repair these nodes: the rollout then resumes by itself. Or end it ("fairlead upgrade abort <cluster>"), replace them, and start it again.`,
  },
  'surge-stays': {
    by: 'gate',
    rule: 'D2',
    sentence: '{nodes} are away, so the surge nodes of {pool} stay (D2)',
    help: `Repair these nodes: the rollout then resumes by itself. Or end it ("fairlead upgrade abort <cluster>"), replace them, and start it again.`,
  },
} as const satisfies Readonly<Record<string, PauseDefinition>>;

/** The reasons of NodeSkipped. */
export const SKIP_REASONS = {
  requested: { sentence: '{reason}', help: 'An operator skipped it, or aborted the rollout.' },
  held: {
    sentence: 'held: {reason}',
    help: '"fairlead node unhold <cluster> <node>" includes it in the next upgrade.',
  },
  'rolled-back': {
    sentence: 'it has its previous software again',
    help: 'Find out why it failed before the next upgrade.',
  },
  gone: { sentence: 'it no longer exists', help: 'Nothing.' },
} as const satisfies Readonly<Record<string, ReasonDefinition>>;

/** The reasons of OperationPostponed. */
export const POSTPONE_REASONS = {
  pause: { sentence: 'no node begins while the rollout is paused or halted', help: 'See why it is paused or halted.' },
  leader: { sentence: 'it leads etcd now, and goes last', help: 'Nothing.' },
} as const satisfies Readonly<Record<string, ReasonDefinition>>;

/**
 * Failures of operations that the rollout itself detects; a task that fails reports the error message of the dependency
 * it called.
 */
export const OPERATION_FAILURES = {
  overdue: {
    rule: null,
    sentence: 'it was not done within {minutes} minutes',
    help: 'See "fairlead upgrade status <cluster>" and the agent on the node (journalctl -u fairlead-agent), then "fairlead upgrade retry <cluster>".',
  },
  silent: {
    rule: null,
    sentence: 'its agent has sent no heartbeat for too long',
    help: 'Check the machine and the agent on it (journalctl -u fairlead-agent), then "fairlead upgrade retry <cluster>".',
  },
  unstaged: {
    rule: 'B9',
    sentence: '{nodes}',
    help: 'Fix disk space or the software source of these nodes, then "fairlead upgrade retry <cluster>".',
  },
  'not-reported': {
    rule: 'B9',
    sentence: '{node}: its agent has not reported them',
    help: 'Check the agent on the node (journalctl -u fairlead-agent), then "fairlead upgrade retry <cluster>".',
  },
  'not-drained': {
    rule: 'D5',
    sentence: 'these pods are still on it: {pods}',
    help: 'Remove what blocks the evictions, a PodDisruptionBudget ("kubectl get poddisruptionbudgets -A") or an admission webhook ("kubectl get validatingwebhookconfigurations"), then "fairlead upgrade retry <cluster>".',
  },
} as const satisfies Readonly<Record<string, ReasonDefinition & { readonly rule: UpgradeRule | null }>>;

interface HaltDefinition extends ReasonDefinition {
  readonly when: string;
}

const CAUSE = '{cause}';
const RETRY = 'Fix the cause, then "fairlead upgrade retry <cluster>".';
const RETRY_OR_LEAVE =
  'Fix the cause, then "fairlead upgrade retry <cluster>"; or "fairlead upgrade rollback <cluster> <node>"; or "fairlead upgrade skip <cluster> <node>" and then "fairlead upgrade resume <cluster>".';

/** The rules by which a rollout halts (RolloutHalted). {cause}: the failure that triggers it. */
export const HALTS = {
  D1: { when: 'The canary of a pool has failed.', sentence: CAUSE, help: RETRY_OR_LEAVE },
  D2: { when: 'Surge nodes could not be created or removed.', sentence: CAUSE, help: RETRY },
  D5: {
    when: 'A node could not be drained in time, and its pool has onDrainTimeout stop.',
    sentence: CAUSE,
    help: RETRY_OR_LEAVE,
  },
  E2: { when: 'As many nodes failed in a row as consecutiveFailuresMax.', sentence: CAUSE, help: RETRY_OR_LEAVE },
  E3: { when: 'A larger share of a pool has failed than failedShareMax.', sentence: CAUSE, help: RETRY_OR_LEAVE },
  E4: {
    when: 'More nodes were quarantined because they could not be drained than maxBlockedNodes.',
    sentence: 'could not be drained: {nodes}',
    help: RETRY_OR_LEAVE,
  },
  E5: {
    when: 'Nodes that were Ready when the rollout began, and that it has not touched, are not Ready.',
    sentence: 'not Ready for {minutes} minutes, or without heartbeats: {nodes}',
    help: RETRY,
  },
  E6: { when: 'The API server could not be reached for as long as its gate may wait.', sentence: CAUSE, help: RETRY },
  E7: { when: 'A control plane, or an operation on the whole cluster, has failed.', sentence: CAUSE, help: RETRY },
  G1: { when: 'Everything is done except nodes that have failed.', sentence: CAUSE, help: RETRY_OR_LEAVE },
} as const satisfies Readonly<Partial<Record<UpgradeRule, HaltDefinition>>>;
export type HaltRule = keyof typeof HALTS;

/** What an operator can do after a rollout has halted (RolloutHalted.nextActions). */
export const NEXT_ACTIONS = {
  retry: 'fix the cause, and retry: "fairlead upgrade retry <cluster>"',
  skip: 'leave {node} as it is: "fairlead upgrade skip <cluster> {node}"',
  rollback: 'restore the previous software of {node}: "fairlead upgrade rollback <cluster> {node}"',
  abort: 'end the rollout: "fairlead upgrade abort <cluster>"',
} as const;

/** Why no other upgrade of the cluster can be planned (finding B1.another-upgrade). */
export const OPEN_UPGRADE_STATES = {
  halted: {
    state: 'has halted by rule {rule}: {message}',
    next: 'Fix the cause and retry it ("fairlead upgrade retry <cluster>")',
  },
  running: { state: 'is in progress', next: 'Wait until it has ended' },
  'paused-by-itself': { state: 'is paused ({by}): {reason}', next: 'Wait until it has ended: it resumes by itself' },
  paused: { state: 'is paused ({by}): {reason}', next: 'Resume it ("fairlead upgrade resume <cluster>")' },
} as const;
