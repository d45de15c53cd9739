import type { ClusterUid, Fact, NodeName } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type ReportLost = Command<
  'ReportLost',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly lastSeenAt: string | null; readonly limitMs: number }
>;

export type ReportRecovered = Command<
  'ReportRecovered',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly at: string }
>;

export type Health =
  | { readonly status: 'heard' }
  /** `since`: when its last heartbeat arrived, or when the silence was noticed if there was none. */
  | { readonly status: 'lost'; readonly uid: ClusterUid; readonly since: string };

/**
 * Whether a node sends heartbeats. Each change is stated once, however often and by however many replicas it is
 * noticed. Stream `health-<node>`.
 */
export const health: Decider<Health, ReportLost | ReportRecovered, Fact<'NodeLost' | 'NodeRecovered'>> = {
  initial: { status: 'heard' },

  decide: (state, command) => {
    const isLost = state.status === 'lost' && state.uid === command.data.uid;
    switch (command.type) {
      case 'ReportLost':
        return isLost ? nothing : [{ type: 'NodeLost', data: command.data }];
      case 'ReportRecovered': {
        if (!isLost) return nothing;
        const { uid, node, at } = command.data;
        // A clock that was set back must not make the duration negative.
        const lostForMs = Math.max(0, Date.parse(at) - Date.parse(state.since));
        return [{ type: 'NodeRecovered', data: { uid, node, lostForMs } }];
      }
    }
  },

  evolve: (state, event) => {
    switch (event.type) {
      case 'NodeLost':
        return { status: 'lost', uid: event.data.uid, since: event.data.lastSeenAt ?? event.meta.time };
      case 'NodeRecovered':
        return { status: 'heard' };
      default:
        return state;
    }
  },
};
