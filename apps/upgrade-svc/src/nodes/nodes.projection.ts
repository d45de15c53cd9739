import {
  partitionOf,
  type ClusterUid,
  type NodeName,
  type NodeRole,
  type SoftwareVersions,
  type StoredEvent,
} from '@fairlead/contracts';
import { readinessAfter, type Readiness } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';

/** A node in upgrade-svc: its desired state, its reports, and whether it sends heartbeats. */
export interface NodeRow extends Readiness {
  readonly namespace: string;
  readonly cluster: string;
  readonly partition: number;
  readonly uid: ClusterUid;
  readonly node: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  /** Absent: its machine does not run yet, or was recorded by an earlier release. */
  readonly providerId?: string;
  readonly desired: {
    readonly revision: number;
    readonly software: SoftwareVersions;
    readonly changesAllowed: boolean;
  } | null;
  readonly observed: { readonly revision: number; readonly software: SoftwareVersions } | null;
  /** Whether it has drift that its agent may not change. */
  readonly diverged: boolean;
  readonly notReadyBecause: string | null;
  readonly bootId: string | null;
  /** Whether its agent runs, so that heartbeats are expected. */
  readonly agentStarted: boolean;
  readonly lost: boolean;
  /** When it was last seen according to events, which do not include every heartbeat. */
  readonly lastSeenAt: string | null;
  /** The newest event about the node, as the cause of decisions about it. */
  readonly because: { readonly eventId: string; readonly correlationId: string };
}

export const clusterKey = (namespace: string, cluster: string): string => `${namespace}/${cluster}`;

export const nodeKey = (namespace: string, cluster: string, node: string): string => `${namespace}/${cluster}/${node}`;

const namesOf = (event: StoredEvent): readonly string[] => {
  switch (event.type) {
    case 'VmsPlanned':
      return event.data.machines.map(({ name }) => name);
    case 'VmCreated':
      return [event.data.machine.name];
    case 'VmDeleted':
      return [event.data.name];
    case 'AgentStarted':
    case 'NodeRemoved':
    case 'DesiredVersionsSet':
    case 'NodeLost':
    case 'NodeRecovered':
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
    case 'NodeInitialized':
    case 'NodeInitializationFailed':
    case 'NodeReady':
    case 'NodeNotReady':
    case 'NodeDiverged':
    case 'VersionChanged':
    case 'NodeRebooted':
      return [event.data.node];
    default:
      return [];
  }
};

const planned = (event: StoredEvent<'VmsPlanned'>, key: string): NodeRow | undefined => {
  const { namespace, cluster, id, correlationId } = event.meta;
  const machine = event.data.machines.find(({ name }) => nodeKey(namespace, cluster, name) === key);
  if (machine === undefined) return undefined;
  return {
    namespace,
    cluster,
    partition: partitionOf(namespace, cluster),
    uid: event.data.uid,
    node: machine.name,
    role: machine.role,
    pool: machine.pool,
    desired: null,
    observed: null,
    diverged: false,
    ready: false,
    notReadyBecause: null,
    bootId: null,
    agentStarted: false,
    lost: false,
    lastSeenAt: null,
    because: { eventId: id, correlationId },
  };
};

/** Applies an event of the node's agent. Any agent event proves that the node is alive. */
const said = (row: NodeRow, event: StoredEvent): NodeRow => {
  const heard: NodeRow = { ...row, agentStarted: true, lastSeenAt: event.meta.time };
  switch (event.type) {
    case 'NodeInitialized': {
      const { revision, software, bootId } = event.data;
      return { ...heard, observed: { revision, software }, bootId, diverged: false };
    }
    case 'NodeReady': {
      const { revision, software } = event.data;
      const readiness = readinessAfter(row, event.type);
      const notReadyBecause = readiness.ready ? null : row.notReadyBecause;
      return { ...heard, ...readiness, observed: { revision, software }, notReadyBecause, diverged: false };
    }
    case 'NodeNotReady':
      return {
        ...heard,
        ...readinessAfter(row, event.type),
        notReadyBecause: `${event.data.reason}: ${event.data.message}`,
      };
    case 'NodeDiverged':
      return { ...heard, diverged: true };
    case 'VersionChanged':
      return { ...heard, observed: { revision: heard.observed?.revision ?? 0, software: event.data.after } };
    case 'NodeRebooted':
      return { ...heard, bootId: event.data.bootId };
    case 'NodeInitializationFailed':
      return heard;
    default:
      return row;
  }
};

const changed = (row: NodeRow, event: StoredEvent): NodeRow => {
  switch (event.type) {
    case 'VmCreated':
      return { ...row, providerId: event.data.machine.providerId };
    case 'AgentStarted':
      return { ...row, agentStarted: true };
    case 'DesiredVersionsSet': {
      const { revision, software, changesAllowed } = event.data;
      return { ...row, desired: { revision, software, changesAllowed } };
    }
    case 'NodeLost':
      return { ...row, lost: true };
    case 'NodeRecovered':
      return { ...row, lost: false, lastSeenAt: event.meta.time };
    case 'NodeReadinessContradicted':
      return { ...row, ...readinessAfter(row, event.type), notReadyBecause: `Kubernetes: ${event.data.message}` };
    case 'NodeMissing':
      return { ...row, ...readinessAfter(row, event.type), notReadyBecause: 'Kubernetes has no Node object of it' };
    case 'NodeReturned':
    case 'NodeReadinessConfirmed': {
      const readiness = readinessAfter(row, event.type);
      return { ...row, ...readiness, notReadyBecause: readiness.ready ? null : row.notReadyBecause };
    }
    default:
      return said(row, event);
  }
};

export const nodesProjection: Projection<NodeRow> = {
  name: 'nodes',
  table: 'nodes',

  keys: (event) => namesOf(event).map((name) => nodeKey(event.meta.namespace, event.meta.cluster, name)),

  evolve: (row, event, key) => {
    if (event.type === 'VmsPlanned') return row ?? planned(event, key);
    if (row === undefined) return undefined;
    // An event of an earlier cluster of this name.
    if ('uid' in event.data && event.data.uid !== row.uid) return row;
    if (event.type === 'VmDeleted' || event.type === 'NodeRemoved') return undefined;
    const after = changed(row, event);
    if (after === row) return row;
    return { ...after, because: { eventId: event.meta.id, correlationId: event.meta.correlationId } };
  },
};
