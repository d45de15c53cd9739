import {
  machineAt,
  type Cause,
  type ClusterUid,
  type ConnectionName,
  type EventType,
  type Machine,
  type NodeName,
  type NodeRole,
  type StoredEvent,
} from '@fairlead/contracts';
import { replacementIn } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';

/** A planned machine that is not gone. */
export interface MachineRow {
  readonly namespace: string;
  readonly cluster: string;
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly connection: ConnectionName;
  /** null until it runs. */
  readonly machine: Machine | null;
  /** Whether its provider no longer lists it; absent: it does. */
  readonly lost?: boolean;
  /** Whether its provider reports it as stopped; absent: it does not. */
  readonly stopped?: boolean;
  /** Whether its power can be switched; absent: it cannot. */
  readonly power?: boolean;
}

const CLUSTER_EVENTS: ReadonlySet<EventType> = new Set<EventType>([
  'ClusterRequested',
  'ClusterAccepted',
  'ClusterRejected',
  'ClusterRetryRequested',
  'ClusterDeletionRequested',
  'ClusterDeleted',
  'NodesRequested',
  'VmsCreated',
  'NodesRejected',
  'NodesAbandoned',
  'VmsFailed',
  'VmDeletionFailed',
  'LoadBalancerReady',
  'InfrastructureFailed',
]);

const rowKey = ({ meta }: StoredEvent, name: string): string => `${meta.namespace}/${meta.cluster}/${name}`;

/** Applies the drift that a check of its provider has found. */
const seen = (row: MachineRow, event: StoredEvent): MachineRow => {
  switch (event.type) {
    case 'VmGone':
    case 'VmsMissing':
      return { ...row, lost: true };
    case 'VmReturned':
      return { ...row, lost: false };
    case 'VmStopped':
      return { ...row, stopped: true };
    case 'VmStarted':
      return { ...row, stopped: false };
    case 'VmPowerManaged':
      return { ...row, power: event.data.managed };
    case 'VmAddressChanged':
      return row.machine === null ? row : { ...row, machine: machineAt(row.machine, event.data) };
    default:
      return row;
  }
};

/** Every machine of every cluster. */
export const machinesProjection: Projection<MachineRow> = {
  name: 'machines',
  table: 'machines',
  keys: (event) => {
    switch (event.type) {
      case 'VmsPlanned':
        return event.data.machines.map(({ name }) => rowKey(event, name));
      case 'VmCreated':
        return [rowKey(event, event.data.machine.name)];
      case 'VmGone':
      case 'VmReturned':
      case 'VmStopped':
      case 'VmStarted':
      case 'VmAddressChanged':
      case 'VmPowerManaged':
        return [rowKey(event, event.data.node)];
      case 'VmsMissing':
        return event.data.nodes.map((name) => rowKey(event, name));
      case 'VmDeleted':
        return [rowKey(event, event.data.name)];
      default:
        return [];
    }
  },
  evolve: (row, event, key) => {
    switch (event.type) {
      case 'VmsPlanned': {
        const plan = event.data.machines.find(({ name }) => rowKey(event, name) === key);
        if (plan === undefined) return row;
        const { namespace, cluster } = event.meta;
        const { name, role, connection } = plan;
        return { namespace, cluster, name, role, connection, machine: null };
      }
      case 'VmCreated':
        return row === undefined ? undefined : { ...row, machine: event.data.machine };
      case 'VmDeleted':
        return undefined;
      default:
        return row === undefined ? undefined : seen(row, event);
    }
  },
};

/** A cluster as known to infra-svc. */
export interface ClusterRow {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly status: 'requested' | 'rejected' | 'desired' | 'made' | 'failed' | 'leaving';
  /** Why it failed, while it is failed. */
  readonly failure: Cause | null;
}

const retriedAs = ({ status }: ClusterRow, { data }: StoredEvent<'ClusterRetryRequested'>): ClusterRow['status'] =>
  status === 'rejected' || data.correction !== undefined ? 'requested' : 'desired';

const clusterAfter = (row: ClusterRow, event: StoredEvent): ClusterRow | undefined => {
  switch (event.type) {
    case 'ClusterAccepted':
    case 'NodesRequested':
      return { ...row, status: 'desired' };
    case 'ClusterRejected':
      return { ...row, status: 'rejected' };
    case 'LoadBalancerReady':
    case 'VmsCreated':
      return { ...row, status: 'made' };
    case 'NodesRejected':
    case 'NodesAbandoned':
    case 'VmsFailed':
      return row.status === 'desired' ? { ...row, status: 'made' } : row;
    case 'VmDeletionFailed':
      return { ...row, failure: event.data.cause };
    case 'InfrastructureFailed':
      return { ...row, status: row.status === 'leaving' ? 'leaving' : 'failed', failure: event.data.cause };
    case 'ClusterRetryRequested':
      return { ...row, status: retriedAs(row, event), failure: null };
    case 'ClusterDeletionRequested':
      return { ...row, status: 'leaving', failure: null };
    case 'ClusterDeleted':
      return undefined;
    default:
      return replacementIn(event) === undefined ? row : { ...row, status: 'desired' };
  }
};

const isAboutCluster = (event: StoredEvent): boolean =>
  CLUSTER_EVENTS.has(event.type) || replacementIn(event) !== undefined;

/** Clusters as known to infra-svc. Deleted ones have no row. */
export const clustersProjection: Projection<ClusterRow> = {
  name: 'clusters',
  table: 'clusters',
  keys: (event) => (isAboutCluster(event) ? [`${event.meta.namespace}/${event.meta.cluster}`] : []),
  evolve: (row, event) => {
    if (event.type === 'ClusterRequested') {
      const { namespace, cluster } = event.meta;
      return row ?? { namespace, cluster, uid: event.data.uid, status: 'requested', failure: null };
    }
    if (row === undefined || !('uid' in event.data) || event.data.uid !== row.uid) return row;
    return clusterAfter(row, event);
  },
};
