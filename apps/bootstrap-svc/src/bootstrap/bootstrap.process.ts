import type { StoredEvent } from '@fairlead/contracts';
import { cancelTimer, job, later, timer, type DueTimer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { evolve } from './bootstrap.evolve.js';
import { keyOf, plan, type Operation, type StepKey } from './bootstrap.planner.js';
import { ABSENT, isControlPlane, newHostsOf, type Bootstrap, type Failure, type Host } from './bootstrap.state.js';

/** How long others may take; then the cluster has failed, with the last thing that was heard as the cause. */
export interface Limits {
  /** From the agent's start to its report that every package is there. Downloads are in it. */
  readonly agentMs: number;
  /** From a node's join to Kubernetes calling it Ready. */
  readonly readyMs: number;
}

export const DEFAULT_LIMITS: Limits = { agentMs: 15 * 60_000, readyMs: 15 * 60_000 };

/** The process's memory of one cluster: what is known, what is wanted, and what the last event asks for. */
export interface Following {
  readonly bootstrap: Bootstrap;
  readonly wanted: readonly StepKey[];
  /** The nearest moment at which a node has taken too long; null: nobody is waited for. */
  readonly deadline: string | null;
  readonly reactions: readonly Reaction[];
}

const DEADLINE = 'deadline';

const jobOf = (bootstrap: Bootstrap, operation: Operation): Reaction => {
  const at = bootstrap.status === 'absent' ? {} : { uid: bootstrap.uid, run: bootstrap.run };
  const { step, ...data } = operation;
  return job(step, { ...at, step, ...data });
};

interface Wait {
  readonly host: Host;
  readonly dueAt: string;
  readonly what: 'agent' | 'ready';
}

const latest = (one: string, other: string): string => (one > other ? one : other);

/** Whom the cluster waits for, and until when. Hosts without an agent are our own work, which has limits of its own. */
const waits = (bootstrap: Bootstrap, limits: Limits): readonly Wait[] => {
  if (bootstrap.status !== 'building') return [];
  return newHostsOf(bootstrap).flatMap((host): readonly Wait[] => {
    const { agentStartedAt, joinedAt, initialized, ready } = host;
    if (agentStartedAt !== null && !initialized) {
      return [{ host, what: 'agent', dueAt: later(latest(agentStartedAt, bootstrap.runStartedAt), limits.agentMs) }];
    }
    if (joinedAt !== null && !ready) {
      return [{ host, what: 'ready', dueAt: later(latest(joinedAt, bootstrap.runStartedAt), limits.readyMs) }];
    }
    return [];
  });
};

const nearest = (waiting: readonly Wait[]): Wait | undefined =>
  waiting.toSorted((one, other) => (one.dueAt < other.dueAt ? -1 : 1))[0];

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

const deadlineReactions = (before: string | null, after: string | null): readonly Reaction[] => {
  if (before === after) return [];
  return after === null ? [cancelTimer(DEADLINE)] : [timer(DEADLINE, after)];
};

/** Secrets outlive the cluster by one job: they are needed until its machines are gone. */
const forget = (event: StoredEvent<'ClusterDeleted'>): readonly Reaction[] => [
  cancelTimer(DEADLINE),
  job('DestroySecrets', { uid: event.data.uid, run: 0, step: 'DestroySecrets' }),
];

/** Every event may make new operations wanted: exactly those become jobs. */
export const makeBootstrapProcess = (limits: Limits = DEFAULT_LIMITS): Process<Following> => ({
  name: 'bootstrap',
  version: 4,
  initial: { bootstrap: ABSENT, wanted: [], deadline: null, reactions: [] },

  evolve: (before, event) => {
    const bootstrap = evolve(before.bootstrap, event);
    if (bootstrap === before.bootstrap && before.reactions.length === 0) return before;
    if (bootstrap.status === 'absent') return undefined;
    const operations = plan(bootstrap);
    // A new run asks for its own jobs: those of the run before are no longer wanted.
    const sameRun = before.bootstrap.status !== 'absent' && before.bootstrap.run === bootstrap.run;
    const known = new Set(sameRun ? before.wanted : []);
    const fresh = operations.filter((operation) => !known.has(keyOf(operation)));
    const deadline = nearest(waits(bootstrap, limits))?.dueAt ?? null;
    return {
      bootstrap,
      wanted: operations.map(keyOf),
      deadline,
      reactions: [
        ...fresh.map((operation) => jobOf(bootstrap, operation)),
        ...deadlineReactions(before.deadline, deadline),
      ],
    };
  },

  react: (state, event) => (event.type === 'ClusterDeleted' ? forget(event) : state.reactions),

  due: ({ bootstrap }, due: DueTimer) => {
    const overdue = nearest(waits(bootstrap, limits));
    if (bootstrap.status !== 'building' || overdue === undefined || overdue.dueAt !== due.dueAt) return [];
    const failure = failureOf(overdue, limits);
    return [jobOf(bootstrap, { step: 'FailCluster', failure, reason: failure.cause.message })];
  },
});
