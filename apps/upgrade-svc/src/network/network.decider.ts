import type { DesiredNetwork, EventData, Fact } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** The node must have this network configuration. `again`: retry it if it has failed. */
export type SetDesiredNetwork = Command<
  'SetDesiredNetwork',
  Pick<EventData<'DesiredNetworkSet'>, 'uid' | 'node' | 'revision'> & {
    readonly content: DesiredNetwork;
    readonly again: number | null;
  }
>;

export type DesiredNetworkState = EventData<'DesiredNetworkSet'> | null;

/** The network configuration of one node, revision by revision. Stream `desired-<node>`. */
export const desiredNetwork: Decider<DesiredNetworkState, SetDesiredNetwork, Fact<'DesiredNetworkSet'>> = {
  initial: null,

  decide: (before, { data: { uid, node, revision, content, again } }) => {
    const known = before?.uid === uid && before.revision === revision ? before : undefined;
    if (known !== undefined && known.attempt !== again) return nothing;
    const attempt = known === undefined ? 1 : known.attempt + 1;
    return [{ type: 'DesiredNetworkSet', data: { uid, node, revision, attempt, ...content } }];
  },

  evolve: (state, event) => (event.type === 'DesiredNetworkSet' ? event.data : state),
};
