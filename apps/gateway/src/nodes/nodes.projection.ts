import {
  machineAt,
  sentenceOf,
  type ClusterUid,
  type AddressReport,
  type Cause,
  type DesiredNetwork,
  type Machine,
  type MachinePlan,
  type NodeMetadata,
  type NodePressure,
  type NodeView,
  type NodeNetworkView,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  attemptWords,
  leavingIn,
  readinessAfter,
  stayingIn,
  sentenceOfFailures,
  sentenceOfEvent,
  type Readiness,
  type ReadinessEvent,
} from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { nodeKey } from '../common/cluster.address.js';

/** What a node passes on its way, once. */
export const MILESTONES = [
  'created',
  'reached',
  'agentStarted',
  'initialized',
  'bootstrapped',
  'joined',
  'ready',
  'drained',
  'removed',
] as const;
export type Milestone = (typeof MILESTONES)[number];

/** A machine that is not as it should be. */
export interface Away {
  readonly what: 'machine-gone' | 'machine-missing' | 'machine-stopped';
  /** RFC 3339. */
  readonly since: string;
  /** Why nothing is done about it; empty: it is being repaired, or there is nothing to say. */
  readonly message: string;
}

/** A node, from the plan of its machine to the machine's end. */
export interface NodeDoc extends MachinePlan {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Sequence of the event that planned it: identifies the operation that it belongs to. */
  readonly planSeq: number;
  readonly plannedAt: string;
  readonly machine: Machine | null;
  /** When it first passed each milestone. */
  readonly milestones: { readonly [M in Milestone]?: string };
  /** Its agent reports it as Ready, and the list of Nodes does not say otherwise. */
  readonly isReady: boolean;
  /** What that follows from; absent: its agent's report alone. */
  readonly readiness?: Readiness;
  /** Conditions beside Ready that keep pods away from it; absent: none. */
  readonly pressures?: readonly NodePressure[];
  /** Labels and taints that were set on it; absent: none. */
  readonly metadata?: NodeMetadata;
  /** It failed for good, and is kept until a retry or its removal. */
  readonly isKept?: boolean;
  /** Its agent has announced a change of its software, and has not called it Ready since; absent: it has not. */
  readonly isBeingChanged?: true;
  readonly isLost: boolean;
  /** When the last heartbeat came of one that is lost; absent: not recorded. */
  readonly silentSince?: string;
  /** When it last became Ready, or ceased to be; absent in rows of earlier releases. */
  readonly readyChangedAt?: string;
  readonly isRemoving: boolean;
  /** What its provider says of its machine, where that is not as it should be. Absent: nothing. */
  readonly away?: Away;
  /** Its private address changed after it had joined; absent: it has the one with which it joined. */
  readonly moved?: { readonly from: string; readonly to: string; readonly since: string };
  /** Its drain waits for pods that do not leave; absent: it does not. */
  readonly drain?: { readonly since: string; readonly message: string };
  /** The request about it that is under way; absent: there is none. */
  readonly action?: { readonly requestId: string; readonly reason: string; readonly actor: string };
  /** It takes no new pods, because someone asked for that; absent: it does, or someone else cordoned it. */
  readonly cordon?: {
    readonly requestId: string;
    readonly reason: string;
    readonly actor: string;
    readonly since: string;
  };
  /** It differs from what is desired of it, and why that is so still; absent: it does not. */
  readonly drift?: NonNullable<NodeView['drift']>;
  readonly reason: string;
  readonly software: Readonly<Record<string, string>>;
  /** Its network configuration, once one was desired. */
  readonly network?: NodeNetworkView & { readonly attempt: number };
  /** What it last said of the virtual addresses that it may hold, and when; absent: nothing. */
  readonly addresses?: { readonly reports: readonly AddressReport[]; readonly since: string };
  /** Those of its interfaces, as its agent said last; absent: it has only one, or has not said. */
  readonly hostAddresses?: readonly string[];
  /** Whether it holds the address of the API that control planes share, and since when; absent: there is none. */
  readonly apiAddress?: {
    readonly held: boolean;
    readonly since: string;
    /** Whether each API server passes the health check of the balancer, as its holder says; absent: it does not say. */
    readonly upstreams?: Readonly<Record<string, boolean>> | undefined;
  };
  /** What its health check led to, in one sentence; absent: nothing. */
  readonly remediation?: string;
  readonly changedAt: string;
}

/** The node that the list of Nodes says something about, or the one that leaves. */
const listedIn = (event: StoredEvent): readonly string[] => {
  switch (event.type) {
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
    case 'NodePressureChanged':
      return [event.data.node];
    default:
      return leavingIn(event);
  }
};

const namesIn = (event: StoredEvent): readonly string[] => {
  switch (event.type) {
    case 'VmsPlanned':
      return event.data.machines.map((machine) => machine.name);
    case 'VmCreated':
      return [event.data.machine.name];
    case 'VmDeleted':
      return [event.data.name];
    case 'VmsMissing':
      return event.data.nodes;
    case 'InitialControlPlaneChanged':
      return [event.data.from, event.data.to];
    case 'VmsFailed':
    case 'VmDeletionFailed':
      return event.data.machines;
    case 'NodesFailed':
    case 'NodeActionRequested':
      return event.data.nodes;
    case 'BootstrapStepFailed':
      return event.data.node === undefined || event.data.nextAttemptAt !== null ? [] : [event.data.node];
    case 'HostReached':
    case 'AgentStarted':
    case 'NodeInitialized':
    case 'NodeInitializationFailed':
    case 'NodeBootstrapped':
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
    case 'NodeLabelsSet':
    case 'NodeReady':
    case 'NodeNotReady':
    case 'NodeDiverged':
    case 'DriftRepairRequested':
    case 'DriftRepairSuspended':
    case 'NodeLost':
    case 'NodeRecovered':
    case 'VersionChanged':
    case 'RemediationRequested':
    case 'RemediationSucceeded':
    case 'RemediationFailed':
    case 'RemediationSkipped':
    case 'NodeActionCordoned':
    case 'NodeActionUncordoned':
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
    case 'NodeRemovalCancelled':
    case 'ControlPlaneRemovalBlocked':
    case 'ControlPlaneRemovalUnblocked':
    case 'NodeDrainBlocked':
    case 'NodeDrained':
    case 'VmGone':
    case 'VmReturned':
    case 'VmStopped':
    case 'VmStarted':
    case 'VmAddressChanged':
    case 'DesiredNetworkSet':
    case 'NodeNetworkApplied':
    case 'NodeNetworkFailed':
    case 'NodeAddressesReported':
    case 'VirtualAddressesProbed':
    case 'ApiAddressProbed':
      return [event.data.node];
    default:
      return listedIn(event);
  }
};

const planned = (event: StoredEvent<'VmsPlanned'>, key: string): NodeDoc | undefined => {
  const { namespace, cluster, seq, time } = event.meta;
  const plan = event.data.machines.find((machine) => nodeKey(namespace, cluster, machine.name) === key);
  return (
    plan && {
      ...plan,
      namespace,
      cluster,
      uid: event.data.uid,
      planSeq: seq,
      plannedAt: time,
      machine: null,
      milestones: {},
      isReady: false,
      isLost: false,
      isRemoving: false,
      reason: '',
      software: {},
      changedAt: time,
    }
  );
};

/** What gets further is over its latest failure. */
const pass = (doc: NodeDoc, milestone: Milestone, time: string): NodeDoc =>
  doc.milestones[milestone] === undefined
    ? { ...doc, reason: '', milestones: { ...doc.milestones, [milestone]: time }, changedAt: time }
    : doc;

const withoutRemediation = ({ remediation: _past, ...doc }: NodeDoc): NodeDoc => doc;

const withoutChange = ({ isBeingChanged: _past, ...doc }: NodeDoc): NodeDoc => doc;

const withoutDrift = ({ drift: _past, ...doc }: NodeDoc): NodeDoc => doc;

/** It differs from what is desired of it, and what is done about that. */
const drifted = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'NodeDiverged': {
      const { differences } = event.data;
      return { ...doc, drift: { since: doc.drift?.since ?? time, differences, message: '' }, changedAt: time };
    }
    case 'DriftRepairRequested':
    case 'DriftRepairSuspended':
      return doc.drift === undefined ? doc : { ...doc, drift: { ...doc.drift, message: sentenceOfEvent(event) } };
    default:
      return doc;
  }
};

const withoutDrain = ({ drain: _past, ...doc }: NodeDoc): NodeDoc => doc;

/** What its health check leads to. */
const remediated = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  switch (event.type) {
    case 'RemediationRequested':
    case 'RemediationFailed':
    case 'RemediationSkipped':
      return { ...doc, remediation: sentenceOfEvent(event), changedAt: event.meta.time };
    case 'RemediationSucceeded':
      return withoutRemediation(doc);
    default:
      return doc;
  }
};

const change = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'VmCreated':
      return pass({ ...doc, machine: event.data.machine }, 'created', time);
    case 'HostReached':
      return pass(doc, 'reached', time);
    case 'AgentStarted':
      return pass(doc, 'agentStarted', time);
    case 'NodeInitialized':
      return pass({ ...withoutDrift(doc), software: event.data.software, reason: '' }, 'initialized', time);
    case 'NodeInitializationFailed':
      return { ...doc, reason: `${event.data.item}: ${event.data.message}`, changedAt: time };
    case 'NodeBootstrapped':
      return pass(doc, 'bootstrapped', time);
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return pass(doc, 'joined', time);
    case 'NodeReady':
      return pass(ready(withoutDrift(withoutChange(doc)), event), 'ready', time);
    case 'NodeLabelsSet':
      return { ...doc, metadata: { labels: event.data.labels, taints: event.data.taints } };
    case 'NodeLost':
      return { ...doc, isLost: true, silentSince: event.data.lastSeenAt ?? time, changedAt: time };
    case 'NodeRecovered':
      return { ...(doc.isReady ? withoutRemediation(doc) : doc), isLost: false, changedAt: time };
    case 'VersionChanged':
      return { ...doc, software: event.data.after, changedAt: time };
    case 'InitialControlPlaneChanged':
      return { ...doc, leader: doc.name === event.data.to, changedAt: time };
    case 'NodeDrainBlocked':
      return { ...doc, drain: { since: doc.drain?.since ?? time, message: sentenceOfEvent(event) }, changedAt: time };
    case 'NodeDrained':
      return pass(withoutDrain(doc), 'drained', time);
    case 'NodeRemoved':
      return pass(doc, 'removed', time);
    case 'NodeRemovalCancelled':
      return { ...withoutDrain(doc), changedAt: time };
    default:
      return failing(
        acted(remediated(networkAfter(awayAfter(listed(drifted(doc, event), event), event), event), event), event),
        event,
      );
  }
};
const withoutAction = ({ action: _past, ...doc }: NodeDoc): NodeDoc => doc;
const withoutCordon = ({ cordon: _past, ...doc }: NodeDoc): NodeDoc => doc;

/** What someone asked of it. The cordon of a request has the reason and the actor of that request. */
const acted = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time, actor } = event.meta;
  switch (event.type) {
    case 'NodeActionRequested': {
      const { requestId, action, reason } = event.data;
      return { ...doc, action: { requestId, reason: reason === '' ? action : reason, actor } };
    }
    case 'DriftRepairRequested': {
      const { requestId, drain } = event.data;
      return drain === true ? { ...doc, action: { requestId, reason: 'repair of drift', actor } } : doc;
    }
    case 'NodeActionCordoned':
      if (!event.data.byRequest || doc.action?.requestId !== event.data.requestId) return doc;
      return { ...doc, cordon: { ...doc.action, since: time }, changedAt: time };
    case 'NodeActionUncordoned':
      return { ...withoutCordon(doc), changedAt: time };
    case 'NodeActionSucceeded':
    case 'NodeActionFailed':
    case 'NodeActionVoided':
      return doc.action?.requestId === event.data.requestId ? withoutAction(doc) : doc;
    default:
      return doc;
  }
};

const hasNetwork = ({ firewall, sshd, loadBalancing }: DesiredNetwork): boolean =>
  [firewall, sshd, loadBalancing].some((part) => part !== undefined);

const withoutNetwork = ({ network: _network, ...doc }: NodeDoc): NodeDoc => doc;

/** `since`: when it began to hold the address, or ceased to. */
const apiAddressAfter = (
  before: NodeDoc['apiAddress'],
  { data: { held, upstreams }, meta }: StoredEvent<'ApiAddressProbed'>,
): NonNullable<NodeDoc['apiAddress']> => ({
  held,
  since: before?.held === held ? before.since : meta.time,
  ...(upstreams === undefined ? {} : { upstreams }),
});

/** What became of the network configuration that is desired. A word about an earlier one says nothing. */
const networkAfter = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time: since } = event.meta;
  switch (event.type) {
    case 'DesiredNetworkSet': {
      const { revision, attempt } = event.data;
      if (!hasNetwork(event.data)) return withoutNetwork(doc);
      return { ...doc, network: { state: 'waiting', revision, attempt, since, message: '' }, changedAt: since };
    }
    case 'NodeNetworkApplied':
    case 'NodeNetworkFailed': {
      const { network } = doc;
      const { revision, attempt } = event.data;
      if (network?.revision !== revision || network.attempt !== attempt) return doc;
      const outcome =
        event.type === 'NodeNetworkApplied'
          ? ({ state: 'applied', message: '' } as const)
          : ({ state: 'failed', message: sentenceOfFailures(event.data.failures) } as const);
      return { ...doc, network: { ...network, ...outcome, since }, changedAt: since };
    }
    case 'ApiAddressProbed':
      return { ...doc, apiAddress: apiAddressAfter(doc.apiAddress, event) };
    case 'NodeAddressesReported':
      return { ...doc, hostAddresses: event.data.addresses, changedAt: since };
    case 'VirtualAddressesProbed':
      return { ...doc, addresses: { reports: event.data.addresses, since } };
    default:
      return doc;
  }
};

const withDeparture = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const isMeant = (name: string): boolean => name === doc.name;
  if (leavingIn(event).some(isMeant)) return { ...doc, isRemoving: true, changedAt: event.meta.time };
  return stayingIn(event).some(isMeant) ? { ...doc, isRemoving: false, changedAt: event.meta.time } : doc;
};

const present = ({ away: _away, ...doc }: NodeDoc, time: string): NodeDoc => ({ ...doc, changedAt: time });

const away = (doc: NodeDoc, what: Away['what'], since: string, message = ''): NodeDoc => ({
  ...doc,
  away: { what, since, message },
  changedAt: since,
});

/** A kubelet keeps the address that it was started with, and so do the certificates and the etcd of a control plane. */
const moved = (doc: NodeDoc, { data, meta: { time } }: StoredEvent<'VmAddressChanged'>): NodeDoc => {
  const { machine, moved: before, ...others } = doc;
  if (machine === null) return doc;
  const { from = machine.privateIp, since = time } = before ?? {};
  const after = { ...others, machine: machineAt(machine, data), changedAt: time };
  const isBack = from === data.privateIp;
  return isBack || doc.milestones.joined === undefined
    ? after
    : { ...after, moved: { from, to: data.privateIp, since } };
};

/** What the looks at providers have found. */
const awayAfter = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  const { what } = doc.away ?? {};
  switch (event.type) {
    case 'VmGone':
      return away(doc, 'machine-gone', time, event.data.reason);
    case 'VmsMissing': {
      const { missing, total } = event.data;
      return away(doc, 'machine-missing', time, `${missing} of ${total} machines are missing at once`);
    }
    case 'VmStopped':
      return away(doc, 'machine-stopped', time);
    case 'VmReturned':
      return present(doc, time);
    case 'VmStarted':
      return what === 'machine-stopped' ? present(doc, time) : doc;
    case 'VmAddressChanged':
      return moved(doc, event);
    default:
      return doc;
  }
};

const withReadiness = (doc: NodeDoc, { type, meta }: StoredEvent<ReadinessEvent>): NodeDoc => {
  const readiness = readinessAfter(doc.readiness ?? { ready: doc.isReady }, type);
  return { ...doc, readiness, isReady: readiness.ready, changedAt: meta.time };
};

/** Kubernetes says nothing against it any more. */
const returned = (doc: NodeDoc, event: StoredEvent<ReadinessEvent>): NodeDoc => {
  const after = withReadiness(doc, event);
  return after.isReady ? { ...withoutRemediation(after), reason: '' } : after;
};

/** What its agent and the list of Nodes have against it, or no more. */
const listed = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  switch (event.type) {
    case 'NodeNotReady': {
      const changing = event.data.reason === 'SoftwareChange' ? { isBeingChanged: true as const } : {};
      return { ...withoutChange(withReadiness(doc, event)), ...changing, reason: event.data.message };
    }
    case 'NodeReadinessContradicted':
      return { ...withoutChange(withReadiness(doc, event)), reason: event.data.message };
    case 'NodeMissing':
      return { ...withReadiness(doc, event), reason: 'Kubernetes has no Node object of it' };
    case 'NodeReturned':
    case 'NodeReadinessConfirmed':
      return returned(doc, event);
    case 'NodePressureChanged':
      return { ...doc, pressures: event.data.conditions, changedAt: event.meta.time };
    default:
      return doc;
  }
};

const ready = (doc: NodeDoc, event: StoredEvent<'NodeReady'>): NodeDoc => ({
  ...returned(doc, event),
  isKept: false,
  software: event.data.software,
});

/** The failure names a machine of those that still exist, and it is not this one. */
const isAboutAnother = (name: string, { target, message }: Cause, machines: readonly string[]): boolean => {
  const words = `${target} ${message}`.split(/[^a-z0-9.-]+/u);
  const named = machines.filter((machine) => words.includes(machine));
  return named.length > 0 && !named.includes(name);
};

/** What failed for good about it, in a sentence. */
const failing = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'VmsFailed':
    case 'NodesFailed': {
      return { ...doc, isKept: !doc.isRemoving, reason: sentenceOf(event.data.cause), changedAt: time };
    }
    case 'ControlPlaneRemovalBlocked':
      return { ...doc, reason: `it cannot leave yet: ${sentenceOf(event.data.cause)}`, changedAt: time };
    case 'ControlPlaneRemovalUnblocked':
      return { ...doc, reason: '', changedAt: time };
    case 'BootstrapStepFailed':
      return { ...doc, reason: sentenceOf(event.data.cause), changedAt: time };
    case 'VmDeletionFailed': {
      const { cause, attempt, machines } = event.data;
      if (isAboutAnother(doc.name, cause, machines)) return doc;
      const attempts = attemptWords({ ...event.data, attemptsMax: attempt });
      const reason = `the machine could not be deleted: ${sentenceOf(cause)} (${attempts})`;
      return { ...doc, reason, changedAt: time };
    }
    default:
      return doc;
  }
};

const isUp = ({ isReady, isLost }: NodeDoc): boolean => isReady && !isLost;

/** Since when a node is Ready and not lost, without interruption; null: it is not. */
export const readySinceOf = (doc: NodeDoc): string | null => (isUp(doc) ? (doc.readyChangedAt ?? doc.changedAt) : null);

const withReadySince = (before: NodeDoc, after: NodeDoc, time: string): NodeDoc =>
  isUp(before) === isUp(after) ? after : { ...after, readyChangedAt: time };

export const nodesProjection: Projection<NodeDoc> = {
  name: 'nodes',
  table: 'nodes',

  keys: (event) => {
    const { namespace, cluster } = event.meta;
    return namesIn(event).map((name) => nodeKey(namespace, cluster, name));
  },

  evolve: (doc, event, key) => {
    if (event.type === 'VmsPlanned') return doc ?? planned(event, key);
    // A late word about a machine that is gone, or about another cluster of the same name, changes nothing.
    if (doc === undefined || !('uid' in event.data) || event.data.uid !== doc.uid) return doc;
    return event.type === 'VmDeleted'
      ? undefined
      : withReadySince(doc, change(withDeparture(doc, event), event), event.meta.time);
  },
};
