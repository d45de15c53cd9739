import type { HookPoint, NodeName } from '@fairlead/contracts';
import { later, type Reconciler, type Task } from '@fairlead/event-sourcing';
import {
  bootstrap as decider,
  departures,
  failCluster,
  failStep,
  revokeCredentials,
  stateReplacements,
  verificationFailed,
  type BootstrapCommand,
  type BootstrapFact,
} from './bootstrap.decider.js';
import {
  begunChanges,
  hookCalls,
  hookDueAfter,
  keyOf,
  plan,
  renewalDueAfter,
  renewals,
  type PlannedTask,
} from './bootstrap.planner.js';
import { changeDueAfter } from './changes.planner.js';
import { nextLookAt } from './departures.planner.js';
import { isControlPlane, newHostsOf, type Bootstrap, type Failure, type Host } from './bootstrap.state.js';
import { reasonOf } from './reasons.js';

/**
 * Timeouts for agents and Kubernetes; afterwards the cluster has failed, with the last reported problem as the cause.
 */
export interface Limits {
  /** From the agent's start to its report that every package is installed, downloads included. */
  readonly agentMs: number;
  /** From a node's join until it is Ready in Kubernetes. */
  readonly readyMs: number;
}

export const DEFAULT_LIMITS: Limits = { agentMs: 15 * 60_000, readyMs: 15 * 60_000 };

/** The input of a step's handler in addition to the state. */
export interface TaskData {
  readonly [key: string]: unknown;
  /** Absent: the step belongs to the cluster as a whole. */
  readonly node?: NodeName;
  /** The hook to call. */
  readonly hook?: string;
  readonly point?: HookPoint;
  /** The snapshot to verify. */
  readonly snapshot?: string;
}

const dataOf = (operation: PlannedTask): TaskData => {
  if (operation.step === 'CallHook') {
    const { point, node, hook } = operation.call;
    return { point, hook: hook.name, ...(node === undefined ? {} : { node }) };
  }
  const { step: _step, reason: _reason, ...data }: Exclude<PlannedTask, { step: 'CallHook' }> & TaskData = operation;
  return data;
};

const taskOf = (operation: PlannedTask): Task => {
  const data = dataOf(operation);
  return { type: operation.step, key: keyOf(operation), reason: operation.reason, data };
};

interface Wait {
  readonly host: Host;
  readonly dueAt: string;
  readonly what: 'agent' | 'ready';
}

const latest = (one: string, other: string): string => (one > other ? one : other);

const earliest = (...times: readonly (string | null)[]): string | null =>
  times.filter((time) => time !== null).toSorted()[0] ?? null;

/**
 * Since when the cluster waits for the host; undefined: it does not. Steps on a host without an agent have their own
 * timeouts.
 */
const waitsSince = (what: Wait['what'], { agentStartedAt, joinedAt, initialized, ready }: Host): string | undefined => {
  if (agentStartedAt !== null && !initialized) return what === 'agent' ? agentStartedAt : undefined;
  return joinedAt !== null && !ready && what === 'ready' ? joinedAt : undefined;
};

/** The next wait to end after a time; undefined: the cluster waits for no host. */
const nextWait = (bootstrap: Bootstrap, limits: Limits, after?: string): Wait | undefined => {
  if (bootstrap.status !== 'building') return undefined;
  const { cluster } = bootstrap;
  // Every wait of a kind has the same timeout, so the first to start is the first to end.
  const firstOf = (what: Wait['what'], limitMs: number): readonly Wait[] => {
    const beganAfter = after === undefined ? '' : later(after, -limitMs);
    let first: { readonly host: Host; readonly since: string } | undefined;
    for (const host of newHostsOf(cluster)) {
      const began = waitsSince(what, host);
      const since = began === undefined ? '' : latest(began, cluster.runStartedAt);
      if (since > beganAfter && (first === undefined || since < first.since)) first = { host, since };
    }
    return first === undefined ? [] : [{ host: first.host, what, dueAt: later(first.since, limitMs) }];
  };
  return [...firstOf('agent', limits.agentMs), ...firstOf('ready', limits.readyMs)].toSorted((one, other) =>
    one.dueAt < other.dueAt ? -1 : 1,
  )[0];
};

const failureOf = ({ host, what }: Wait, limits: Limits): Failure => {
  const node = host.machine.name;
  const minutes = (what === 'agent' ? limits.agentMs : limits.readyMs) / 60_000;
  const silence = {
    operation: what === 'agent' ? 'prepare the node' : 'become Ready',
    target: node,
    message:
      what === 'agent'
        ? `its agent was started and reported nothing for ${minutes} minutes`
        : `it joined, and Kubernetes did not call it Ready within ${minutes} minutes`,
  };
  const joinReason = isControlPlane(host) ? 'ControlPlaneJoinFailed' : 'WorkerJoinFailed';
  return {
    step: what === 'agent' ? 'InitializeNode' : 'AwaitNodeReady',
    node,
    reason: what === 'agent' ? 'BootstrapFailed' : joinReason,
    cause: host.trouble ?? silence,
  };
};

/** Why a cluster cannot become ready by itself: its infrastructure failed, or a node took too long. */
const failures = (bootstrap: Bootstrap, now: string, limits: Limits): readonly BootstrapFact[] => {
  if (bootstrap.status !== 'building') return [];
  const { cluster, broken } = bootstrap;
  if (broken !== null) return failCluster(cluster, broken);
  const overdue = nextWait(bootstrap, limits);
  return overdue === undefined || overdue.dueAt > now ? [] : failCluster(cluster, failureOf(overdue, limits));
};

/** Turns hosts into a cluster: runs the operations of the plan, and records the facts that follow without one. */
export const bootstrapReconciler = (
  limits: Limits = DEFAULT_LIMITS,
): Reconciler<Bootstrap, BootstrapCommand, BootstrapFact> => ({
  name: 'bootstrap',
  version: 25,
  context: 'bootstrap',
  decider,
  generation: (state) => (state.status === 'absent' ? '' : `${state.cluster.uid}/${state.cluster.run}`),
  tasks: (state, now) => [...plan(state), ...renewals(state, now), ...hookCalls(state, now)].map(taskOf),
  facts: (state, now) => [
    ...revokeCredentials(state),
    ...departures(state, now),
    ...begunChanges(state, now),
    ...stateReplacements(state),
    ...failures(state, now, limits),
  ],
  // A cluster that waits for hosts is not ready, and agents are renewed only in a ready one.
  wakeAt: (state, now) =>
    earliest(
      nextWait(state, limits, now)?.dueAt ?? renewalDueAfter(state, now),
      nextLookAt(state, now),
      hookDueAfter(state, now),
      state.status === 'absent' ? null : changeDueAfter(state.cluster, now),
    ),

  failed: (state, { type, data }, { cause, attempt, attemptsMax, nextAttemptAt }) => {
    const step = type as PlannedTask['step']; // A task belongs to the plan, or to the finalizer, whose failures are not recorded.
    const { node, snapshot } = data as TaskData;
    if (snapshot !== undefined)
      return nextAttemptAt === null ? verificationFailed(state, { snapshot, invalid: false, cause }) : [];
    const about = { step, ...(node === undefined ? {} : { node }), reason: reasonOf(step), cause };
    return failStep(state, about, { attempt, attemptsMax, nextAttemptAt });
  },

  /** Secrets are needed until the cluster's machines are gone, so they are deleted one task later. */
  followUps: (_state, { event }) => {
    if (event?.type !== 'ClusterDeleted') return [];
    const { uid } = event.data;
    return [{ type: 'DestroySecrets', key: `DestroySecrets/${uid}`, reason: 'its machines are gone', data: { uid } }];
  },
});
