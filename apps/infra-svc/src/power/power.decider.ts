import {
  without,
  type ClusterUid,
  type ConnectionName,
  type EventData,
  type Fact,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { providerIdOf } from '../machines/machines.planner.js';

/** Where a machine is, and its ID there. */
export interface PoweredMachine {
  readonly connection: ConnectionName;
  readonly id: string;
}

export interface PresentPower {
  readonly status: 'present';
  readonly uid: ClusterUid;
  readonly machines: Readonly<Record<string, PoweredMachine>>;
  /** The node whose power is cycled, by request. */
  readonly open: Readonly<Record<string, NodeName>>;
}

/** The machines of a cluster, and those with an open request to cycle their power. */
export type Power = { readonly status: 'absent' } | PresentPower;

export type PowerFact = Fact<'VmPowerCycled' | 'VmPowerCycleFailed'>;
export type RecordPowerCycle = Command<'RecordPowerCycle', EventData<'VmPowerCycled'>>;

const ABSENT: Power = { status: 'absent' };

const closed = (state: PresentPower, requestId: string): PresentPower => {
  const open = without(state.open, requestId);
  return open === state.open ? state : { ...state, open };
};

const evolvePresent = (state: PresentPower, event: StoredEvent): Power => {
  switch (event.type) {
    case 'VmCreated': {
      const { machine } = event.data;
      const { name, connection } = machine;
      return { ...state, machines: { ...state.machines, [name]: { connection, id: providerIdOf(machine) } } };
    }
    case 'VmDeleted':
      return { ...state, machines: without(state.machines, event.data.name) };
    case 'PowerCycleRequested':
      return { ...state, open: { ...state.open, [event.data.requestId]: event.data.node } };
    case 'VmPowerCycled':
    case 'VmPowerCycleFailed':
    case 'RemediationSucceeded':
    case 'RemediationFailed':
      return closed(state, event.data.requestId);
    case 'ClusterDismantled':
      return { ...state, open: {} };
    case 'ClusterDeleted':
      return ABSENT;
    default:
      return state;
  }
};

const evolve = (state: Power, event: StoredEvent): Power => {
  if (event.type === 'ClusterRequested')
    return state.status === 'absent' ? { status: 'present', uid: event.data.uid, machines: {}, open: {} } : state;
  if (state.status === 'absent' || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  return evolvePresent(state, event);
};

/** Hosts of nodes that do not answer are switched off and on. */
export const power: Decider<Power, RecordPowerCycle, PowerFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, { data }) =>
    state.status === 'absent' || state.uid !== data.uid || state.open[data.requestId] === undefined
      ? nothing
      : [{ type: 'VmPowerCycled', data }],
};
