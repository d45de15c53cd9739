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
  type Operation,
} from './bootstrap.planner.js';
import { changeDueAfter } from './changes.planner.js';
import { nextLookAt } from './departures.planner.js';
import { isControlPlane, newHostsOf, type Bootstrap, type Failure, type Host } from './bootstrap.state.js';
import { reasonOf } from './reasons.js';

/** How long agents and Kubernetes may take; then the cluster has failed, with the last problem that was reported as the cause. */
export interface Limits {
  /** From the agent's start to its report that every package is there, downloads included. */
  readonly agentMs: number;
  /** From a node's join until it is Ready in Kubernetes. */
  readonly readyMs: number;
}

export const DEFAULT_LIMITS: Limits = { agentMs: 15 * 60_000, readyMs: 15 * 60_000 };

/** What a step's handler needs besides the state. */
export interface StepData {
  readonly [key: string]: unknown;
  /** Absent: it is about the cluster as a whole. */
  readonly node?: NodeName;
  /** Of a hook that is called. */
  readonly hook?: string;
  readonly point?: HookPoint;
  /** The snapshot that is verified. */
  readonly snapshot?: string;
}

const dataOf = (operation: Operation): StepData => {
  if (operation.step === 'CallHook') {
    const { point, node, hook } = operation.call;
    return { point, hook: hook.name, ...(node === undefined ? {} : { node }) };
  }
  const { step: _step, reason: _reason, ...data }: Exclude<Operation, { step: 'CallHook' }> & StepData = operation;
  return data;
};

const taskOf = (operation: Operation): Task => {
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

/** Since when the cluster waits for the host; undefined: it does not. A host without an agent is our own work, which has limits of its own. */
const waitsSince = (what: Wait['what'], { agentStartedAt, joinedAt, initialized, ready }: Host): string | undefined => {
  if (agentStartedAt !== null && !initialized) return what === 'agent' ? agentStartedAt : undefined;
  return joinedAt !== null && !ready && what === 'ready' ? joinedAt : undefined;
};

/** The wait that ends first, of those that end after a moment; undefined: the cluster waits for no host. */
const nextWait = (bootstrap: Bootstrap, limits: Limits, after?: string): Wait | undefined => {
  if (bootstrap.status !== 'building') return undefined;
  const { cluster } = bootstrap;
  // Every wait of a kind has the same limit, so the one that began first ends first.
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
  const joinReason = isControlPlane(host) ? 'JoinControlPlaneFailedReason' : 'JoinWorkerFailedReason';
  return {
    step: what === 'agent' ? 'InitializeNode' : 'AwaitNodeReady',
    node,
    reason: what === 'agent' ? 'SetupBoostrapFailedReason' : joinReason,
    cause: host.trouble ?? silence,
  };
};

/** Why a cluster cannot become ready by itself: its infrastructure has failed, or a node has taken too long. */
const failures = (bootstrap: Bootstrap, now: string, limits: Limits): readonly BootstrapFact[] => {
  if (bootstrap.status !== 'building') return [];
  const { cluster, broken } = bootstrap;
  if (broken !== null) return failCluster(cluster, broken);
  const overdue = nextWait(bootstrap, limits);
  return overdue === undefined || overdue.dueAt > now ? [] : failCluster(cluster, failureOf(overdue, limits));
};

/** Hosts become a cluster: what the plan names is done, and what follows without work is stated. */
export const bootstrapReconciler = (
  limits: Limits = DEFAULT_LIMITS,
): Reconciler<Bootstrap, BootstrapCommand, BootstrapFact> => ({
  name: 'bootstrap',
  version: 24,
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
  // A cluster that waits for hosts is not ready, and only in one that is are agents renewed.
  wakeAt: (state, now) =>
    earliest(
      nextWait(state, limits, now)?.dueAt ?? renewalDueAfter(state, now),
      nextLookAt(state, now),
      hookDueAfter(state, now),
      state.status === 'absent' ? null : changeDueAfter(state.cluster, now),
    ),

  failed: (state, { type, data }, { cause, attempt, attemptsMax, nextAttemptAt }) => {
    const step = type as Operation['step']; // A task comes from the plan, or from the finalizer, whose failures are not stated.
    const { node, snapshot } = data as StepData;
    if (snapshot !== undefined)
      return nextAttemptAt === null ? verificationFailed(state, { snapshot, invalid: false, cause }) : [];
    const about = { step, ...(node === undefined ? {} : { node }), reason: reasonOf(step), cause };
    return failStep(state, about, { attempt, attemptsMax, nextAttemptAt });
  },

  /** Secrets outlive the cluster by one task: they are needed until its machines are gone. */
  followUps: (_state, { event }) => {
    if (event?.type !== 'ClusterDeleted') return [];
    const { uid } = event.data;
    return [{ type: 'DestroySecrets', key: `DestroySecrets/${uid}`, reason: 'its machines are gone', data: { uid } }];
  },
});
