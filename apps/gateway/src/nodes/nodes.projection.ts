import {
  sentenceOf,
  type ClusterUid,
  type Machine,
  type MachinePlan,
  type NodeMetadata,
  type StoredEvent,
} from '@fairlead/contracts';
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

/** A node, from the plan of its machine to the machine's end. */
export interface NodeDoc extends MachinePlan {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  /** Sequence of the event that planned it: tells which operation it belongs to. */
  readonly planSeq: number;
  readonly plannedAt: string;
  readonly machine: Machine | null;
  /** When it first passed each milestone. */
  readonly milestones: { readonly [M in Milestone]?: string };
  readonly isReady: boolean;
  /** Since when it is Ready and not lost, without interruption; null: it is not. Rows of earlier releases have none. */
  readonly readySince?: string | null;
  /** Labels and taints that were set on it; absent: none. */
  readonly metadata?: NodeMetadata;
  /** It failed for good, and is kept until a retry or its removal. */
  readonly isKept?: boolean;
  readonly isLost: boolean;
  readonly isRemoving: boolean;
  readonly reason: string;
  readonly software: Readonly<Record<string, string>>;
  readonly changedAt: string;
}

const namesIn = (event: StoredEvent): readonly string[] => {
  switch (event.type) {
    case 'VmsPlanned':
      return event.data.machines.map((machine) => machine.name);
    case 'VmCreated':
      return [event.data.machine.name];
    case 'VmDeleted':
      return [event.data.name];
    case 'InitialControlPlaneChanged':
      return [event.data.from, event.data.to];
    case 'VmsFailed':
    case 'VmDeletionFailed':
      return event.data.machines;
    case 'NodesFailed':
    case 'NodesAbandoned':
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
    case 'NodeLost':
    case 'NodeRecovered':
    case 'VersionChanged':
    case 'NodeRemovalRequested':
    case 'ControlPlaneRemovalBlocked':
    case 'NodeDrained':
    case 'NodeRemoved':
      return [event.data.node];
    default:
      return [];
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

/** Since when a node is Ready without interruption; null: it is not Ready, or lost. */
export const readySinceOf = ({ isReady, isLost, readySince, changedAt }: NodeDoc): string | null =>
  isReady && !isLost ? (readySince ?? changedAt) : null;

/** Readiness that was interrupted begins anew. */
const change = (before: NodeDoc, event: StoredEvent): NodeDoc => {
  const after = changed(before, event);
  const isReady = after.isReady && !after.isLost;
  return { ...after, readySince: isReady ? (readySinceOf(before) ?? event.meta.time) : null };
};

const changed = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'VmCreated':
      return pass({ ...doc, machine: event.data.machine }, 'created', time);
    case 'HostReached':
      return pass(doc, 'reached', time);
    case 'AgentStarted':
      return pass(doc, 'agentStarted', time);
    case 'NodeInitialized':
      return pass({ ...doc, software: event.data.software, reason: '' }, 'initialized', time);
    case 'NodeInitializationFailed':
      return { ...doc, reason: `${event.data.item}: ${event.data.message}`, changedAt: time };
    case 'NodeBootstrapped':
      return pass(doc, 'bootstrapped', time);
    case 'ControlPlaneInitialized':
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return pass(doc, 'joined', time);
    case 'NodeReady':
      return pass(ready(doc, event), 'ready', time);
    case 'NodeLabelsSet':
      return { ...doc, metadata: { labels: event.data.labels, taints: event.data.taints } };
    case 'NodeNotReady':
      return { ...doc, isReady: false, reason: event.data.message, changedAt: time };
    case 'NodeLost':
      return { ...doc, isLost: true, changedAt: time };
    case 'NodeRecovered':
      return { ...doc, isLost: false, changedAt: time };
    case 'VersionChanged':
      return { ...doc, software: event.data.after, changedAt: time };
    case 'InitialControlPlaneChanged':
      return { ...doc, leader: doc.name === event.data.to, changedAt: time };
    case 'NodeDrained':
      return pass(doc, 'drained', time);
    case 'NodeRemoved':
      return pass(doc, 'removed', time);
    case 'NodeRemovalRequested':
    case 'NodesAbandoned':
      return { ...doc, isRemoving: true, changedAt: time };
    default:
      return failing(doc, event);
  }
};

const ready = (doc: NodeDoc, { data, meta }: StoredEvent<'NodeReady'>): NodeDoc => ({
  ...doc,
  isReady: true,
  isKept: false,
  reason: '',
  software: data.software,
  changedAt: meta.time,
});

/** What failed for good about it, in a sentence. */
const failing = (doc: NodeDoc, event: StoredEvent): NodeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'VmsFailed':
    case 'NodesFailed': {
      const isRemoving = doc.isRemoving || event.data.onFailure === 'rollback';
      return { ...doc, isRemoving, isKept: !isRemoving, reason: sentenceOf(event.data.cause), changedAt: time };
    }
    case 'ControlPlaneRemovalBlocked':
      return { ...doc, reason: `it cannot leave yet: ${sentenceOf(event.data.cause)}`, changedAt: time };
    case 'BootstrapStepFailed':
      return { ...doc, reason: sentenceOf(event.data.cause), changedAt: time };
    case 'VmDeletionFailed': {
      const { cause, nextAttemptAt } = event.data;
      const reason = `the machine could not be deleted: ${sentenceOf(cause)} (next attempt at ${nextAttemptAt})`;
      return { ...doc, reason, changedAt: time };
    }
    default:
      return doc;
  }
};

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
    return event.type === 'VmDeleted' ? undefined : change(doc, event);
  },
};
