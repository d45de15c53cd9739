import type { StoredEvent } from '@fairlead/contracts';
import { READINESS_EVENTS, readinessAfter, type Readiness, type ReadinessEvent } from './readiness.js';

/** Whether a node is Ready, and whether it sends heartbeats. */
export interface Health extends Readiness {
  /** upgrade-svc reported missing heartbeats, and it has not reported Ready since. */
  readonly lost: boolean;
}

export type HealthEvent = ReadinessEvent | 'NodeLost' | 'NodeRecovered';

const HEALTH_EVENTS: ReadonlySet<string> = new Set<HealthEvent>([...READINESS_EVENTS, 'NodeLost', 'NodeRecovered']);

export const isHealthEvent = (event: StoredEvent): event is StoredEvent<HealthEvent> => HEALTH_EVENTS.has(event.type);

/**
 * An agent that reports Ready is running, so its node is no longer lost, even before its next heartbeat is recorded.
 */
export const healthAfter = (health: Health, type: HealthEvent): Health => {
  switch (type) {
    case 'NodeLost':
      return { ...health, lost: true };
    case 'NodeRecovered':
      return { ...health, lost: false };
    default: {
      const lost = type === 'NodeReady' ? false : health.lost;
      return { ...readinessAfter(health, type), lost };
    }
  }
};
