import type { ConnectionName, StoredEvent } from '@fairlead/contracts';
import { stateOnly, type Reconciler, type Task } from '@fairlead/event-sourcing';
import { connectionGroup } from './connection.group.js';

interface NamedTask extends Pick<Task, 'type' | 'reason'> {
  readonly connection: ConnectionName;
  /** The part of the connection that the task is about; absent: all of it. */
  readonly part?: string;
  readonly data?: object;
}

const taskOf = ({ type, reason, connection, part, data }: NamedTask): Task => ({
  type,
  key: [type, connection, ...(part === undefined ? [] : [part])].join('/'),
  reason,
  data: { connection, ...data },
  groups: [connectionGroup(connection)],
});

const followUpsOf = ({ type, data, meta }: StoredEvent): readonly Task[] => {
  switch (type) {
    case 'ConnectionRegistered':
    case 'ConnectionVerificationRequested':
    case 'HostKeyAccepted': {
      const reason = 'people see what it offers before they build on it';
      return [taskOf({ type: 'VerifyConnection', connection: data.name, reason })];
    }
    case 'HostAccepted': {
      const { name: connection, host } = data;
      const reason = 'an administrator accepted the host';
      return [taskOf({ type: 'AcceptHost', connection, part: host, data: { host, asOf: meta.seq }, reason })];
    }
    case 'HostPowerRequested': {
      const { name: connection, host, action } = data;
      const asked = { host, action, request: meta.seq, requestedAt: meta.time };
      const reason = 'an administrator requested it';
      return [taskOf({ type: 'ControlHostPower', connection, part: `${host}/${meta.seq}`, data: asked, reason })];
    }
    case 'OrphanVmRemovalRequested': {
      const { name: connection, id } = data;
      const reason = 'an administrator requested it';
      return [taskOf({ type: 'DeleteOrphan', connection, part: id, data: { id, requestedAt: meta.time }, reason })];
    }
    default:
      return [];
  }
};

/** Of two requests for the power of a host, the later one counts. */
const isSuperseded = ({ type, data }: Task, event: StoredEvent<'HostPowerRequested'>): boolean =>
  type === 'ControlHostPower' &&
  data['connection'] === event.data.name &&
  data['host'] === event.data.host &&
  data['request'] !== event.meta.seq &&
  event.data.action !== 'status';

const isPointless = (followUp: Task, event: StoredEvent): boolean => {
  const { type, data } = followUp;
  const { connection, id } = data;
  switch (event.type) {
    case 'HostPowerRequested':
      return isSuperseded(followUp, event as StoredEvent<'HostPowerRequested'>);
    case 'ConnectionRemoved':
      return type !== 'DeleteOrphan' && event.data.name === connection;
    case 'OrphanVmGone':
    case 'OrphanVmAdopted':
    case 'OrphanVmDeleted':
      return type === 'DeleteOrphan' && event.data.connection === connection && event.data.id === id;
    default:
      return false;
  }
};

/** Verifies registered connections. All connections share one stream, so the key of a task contains its connection. */
export const connectionsReconciler: Reconciler<null> = {
  name: 'connections',
  version: 2,
  context: 'request',
  decider: stateOnly(null, (state) => state),
  generation: () => '',
  tasks: () => [],
  followUps: (_state, { event }) => (event === undefined ? [] : followUpsOf(event)),
  isPointless,
};
