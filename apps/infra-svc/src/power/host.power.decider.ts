import type { EventData, Fact, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type HostPowerFact = Fact<'HostPowerAnswered' | 'HostPowerFailed'>;
export type RecordHostPower =
  | Command<'RecordHostPower', EventData<'HostPowerAnswered'>>
  | Command<'RecordHostPowerFailure', EventData<'HostPowerFailed'>>;

/** The last answered request, by host. */
type Answered = Readonly<Record<string, number>>;

/** What became of requests for the power of hosts: each is answered once. */
export const hostPower: Decider<Answered, RecordHostPower, HostPowerFact> = {
  initial: {},

  decide: (state, { type, data }) => {
    if ((state[data.host] ?? 0) >= data.request) return nothing;
    return type === 'RecordHostPower' ? [{ type: 'HostPowerAnswered', data }] : [{ type: 'HostPowerFailed', data }];
  },

  evolve: (state, event: StoredEvent) =>
    event.type === 'HostPowerAnswered' || event.type === 'HostPowerFailed'
      ? { ...state, [event.data.host]: event.data.request }
      : state,
};
