import { ACTION_EXPIRES_SECONDS, DRAIN_TIMEOUT_SECONDS, type EventData, type StoredEvent } from '@fairlead/contracts';

export type RequestedAction = Omit<EventData<'NodeActionRequested'>, 'uid' | 'reason'>;

/** What an event requests of nodes that stay: on behalf of a user, or because a node has drift that needs a drain. */
export const actionRequestedIn = (event: StoredEvent): RequestedAction | undefined => {
  switch (event.type) {
    case 'NodeActionRequested':
      return event.data;
    case 'DriftRepairRequested': {
      const { requestId, node, drain } = event.data;
      if (drain === undefined) return undefined;
      const expiresMs = Date.parse(event.meta.time) + ACTION_EXPIRES_SECONDS.default * 1_000;
      return {
        ...{ requestId, action: 'repair', nodes: [node], drain, maxUnavailable: 1 },
        drainTimeoutSeconds: DRAIN_TIMEOUT_SECONDS.default,
        expiresAt: new Date(expiresMs).toISOString(),
      };
    }
    default:
      return undefined;
  }
};
