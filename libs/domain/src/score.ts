import type { ScoreCause } from '@fairlead/contracts';

export const CAUSE_WORDS: Readonly<Record<ScoreCause, string>> = {
  wait: 'waits for its turn',
  lease: 'waits for a reservation or a place',
  machine: 'machine is created',
  connect: 'host is reached, agent starts',
  install: 'software is installed',
  join: 'joins the cluster',
  drain: 'is drained',
  blocked: 'an eviction is refused, or a gate is closed',
  change: 'is changed',
  verify: 'waits for Ready',
  failed: 'an attempt failed; waits for the next',
  done: 'done',
};

/** What begins with an event of this type. */
export const BEGUN_BY: Readonly<Record<string, ScoreCause>> = {
  ClusterRequested: 'wait',
  ClusterAccepted: 'wait',
  ReservationConfirmed: 'lease',
  ConnectionBusy: 'lease',
  NodesRequested: 'wait',
  VmsPlanned: 'machine',
  VmCreated: 'connect',
  HostReached: 'connect',
  AgentStarted: 'install',
  NodeBootstrapped: 'join',
  ControlPlaneInitialized: 'verify',
  ControlPlaneJoined: 'verify',
  WorkerJoined: 'verify',
  NodeReady: 'done',
  BootstrapStepFailed: 'failed',
  InfrastructureStepFailed: 'failed',
  NodeDrainBlocked: 'blocked',
  EvictionRefused: 'blocked',
  NodeActionEvictionRefused: 'blocked',
  DrainTimedOut: 'failed',
  HookBlocked: 'blocked',
  UpgradeHookBlocked: 'blocked',
  NodeActionHookBlocked: 'blocked',
  GateFailed: 'blocked',
  GatePassed: 'verify',
  RolloutStarted: 'wait',
  OperationStarted: 'change',
  OperationPostponed: 'wait',
  OperationCompleted: 'done',
  NodeCordoned: 'drain',
  NodeActionStarted: 'change',
  NodeActionPostponed: 'wait',
  NodeActionCordoned: 'drain',
  NodeActionDrained: 'change',
  NodeEmptied: 'change',
  NodeChangeProgressed: 'change',
  NodeRebooted: 'verify',
  NodeUncordoned: 'verify',
  NodeNotReady: 'verify',
  NodeSkipped: 'done',
  NodeRemovalRequested: 'drain',
  NodeDrained: 'change',
  NodeRemoved: 'machine',
  VmDeleted: 'done',
  NodeLost: 'failed',
  NodeRecovered: 'verify',
  HostsTaken: 'machine',
  VmsCreated: 'connect',
  VmGone: 'failed',
  VmsMissing: 'failed',
  VmStopped: 'failed',
  VmStarted: 'verify',
  VmReturned: 'verify',
  PowerCycleRequested: 'change',
  VmPowerCycled: 'verify',
  VmPowerCycleFailed: 'failed',
  NodeMissing: 'failed',
  NodeReturned: 'verify',
  NodeQuarantined: 'failed',
  EtcdReady: 'verify',
  EtcdMemberAdded: 'join',
  ControlPlaneReady: 'done',
  ControlPlaneRemovalStarted: 'drain',
  ControlPlaneRemovalPrepared: 'change',
  ControlPlaneRemovalUnblocked: 'change',
  NodeReplacementRequested: 'wait',
  NodeReplacementPlanned: 'machine',
  NodeReplacementReady: 'verify',
  PoolRolloutRequested: 'wait',
  PoolReplacementRequested: 'wait',
  RemediationRequested: 'wait',
  NodeRemovalCancelled: 'done',
  NodesAbandoned: 'done',
  RolloutHalted: 'blocked',
  UpgradeNodeSkipRequested: 'wait',
  UpgradeAllowed: 'change',
  UpgradeWithdrawn: 'wait',
  NodeRollbackRequested: 'change',
  NodeActionRequested: 'wait',
  NodeActionUncordoned: 'verify',
  NodeActionVoided: 'done',
  NodeExecStarted: 'change',
  NodeExecFinished: 'done',
  DriftRepairRequested: 'change',
  DriftRepaired: 'done',
  HostAdmitted: 'machine',
};

/** Events without a row of their own. */
const RULES: readonly (readonly [RegExp, ScoreCause])[] = [
  [/Failed$|Rejected$/, 'failed'],
  [/Blocked$/, 'blocked'],
  [/(Succeeded|Completed)$/, 'done'],
];

export const causeBegunBy = (type: string): ScoreCause | undefined =>
  BEGUN_BY[type] ?? RULES.find(([pattern]) => pattern.test(type))?.[1];

/** What is used of an event. */
export interface ScoreEvent {
  readonly seq: number;
  readonly type: string;
  readonly time: string;
  readonly sentence: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Segment {
  readonly cause: ScoreCause;
  readonly fromMs: number;
  readonly toMs: number;
  /** The event that it begins with; undefined: the operation itself. */
  readonly event: ScoreEvent | undefined;
}

export interface Track {
  readonly node: string;
  readonly segments: readonly Segment[];
}

const namesIn = ({ data }: ScoreEvent): readonly string[] =>
  ['node', 'name', 'vm', 'machine'].flatMap((field) => (typeof data[field] === 'string' ? [data[field]] : []));

/** Nodes that a list in the event names, as a plan of machines does. */
const listedIn = ({ data }: ScoreEvent): readonly string[] =>
  Object.values(data).flatMap((value) =>
    Array.isArray(value)
      ? value.flatMap((item: unknown) => {
          if (typeof item === 'string') return [item];
          const name = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
          return typeof name === 'string' ? [name] : [];
        })
      : [],
  );

export const concerns = (event: ScoreEvent, node: string): boolean =>
  namesIn(event).includes(node) || listedIn(event).includes(node);

/** A lane for each node: from the beginning to the end, without a gap and without an overlap. */
export const lanesOf = (
  events: readonly ScoreEvent[],
  nodes: readonly string[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly Track[] =>
  nodes.map((node) => {
    const segments: Segment[] = [{ cause: 'wait', fromMs, toMs, event: undefined }];
    for (const event of events) {
      const cause = concerns(event, node) ? causeBegunBy(event.type) : undefined;
      const atMs = Date.parse(event.time);
      const last = segments.at(-1)!;
      // A node that is Ready may be said to have joined afterwards.
      const isLate = last.cause === 'done' && cause === 'verify';
      if (cause === undefined || isLate || atMs > toMs || (cause === last.cause && cause !== 'failed')) continue;
      const beginMs = Math.max(last.fromMs, atMs, fromMs);
      segments[segments.length - 1] = { ...last, toMs: beginMs };
      segments.push({ cause, fromMs: beginMs, toMs, event });
    }
    return { node, segments: segments.filter((segment) => segment.toMs > segment.fromMs) };
  });

/** How long each cause took, of all lanes together; the longest first. */
export const totalsOf = (lanes: readonly Track[]): readonly (readonly [ScoreCause, number])[] => {
  const totals = new Map<ScoreCause, number>();
  for (const { segments } of lanes)
    for (const { cause, fromMs, toMs } of segments) totals.set(cause, (totals.get(cause) ?? 0) + toMs - fromMs);
  totals.delete('done');
  return [...totals].sort(([, one], [, other]) => other - one);
};

/** The nodes that an operation is about: the machines that are planned in it, otherwise those that its events name. */
export const nodesIn = (events: readonly ScoreEvent[]): readonly string[] => {
  const planned = events.filter(({ type }) => type === 'VmsPlanned').flatMap(listedIn);
  const named = events.flatMap(({ type, data }) =>
    causeBegunBy(type) !== undefined && typeof data['node'] === 'string' ? [data['node']] : [],
  );
  return [...new Set(planned.length > 0 ? planned : named)];
};
