import { durationMs, SNAPSHOT_MAX_AGE_DEFAULT, type NodeName, type StoredEvent } from '@fairlead/contracts';

/** What steps that change a control plane have to know of the snapshots of etcd. */
export interface EtcdSaves {
  /** How old the newest one may be when such a step begins. */
  readonly maxAgeMs: number;
  /** The newest one of etcd as it is; null: there is none. */
  readonly newest: { readonly name: string; readonly takenAt: string } | null;
}

const maxAgeOf = (declared: string = SNAPSHOT_MAX_AGE_DEFAULT): number => durationMs(declared);

export const NO_SAVES: EtcdSaves = { maxAgeMs: maxAgeOf(), newest: null };

/** The same object where nothing changes. */
export const savesAfter = (saves: EtcdSaves, event: StoredEvent): EtcdSaves => {
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const maxAgeMs = maxAgeOf(event.data.spec.etcdSnapshotMaxAge);
      return maxAgeMs === saves.maxAgeMs ? saves : { ...saves, maxAgeMs };
    }
    case 'EtcdSnapshotTaken':
      return { ...saves, newest: { name: event.data.snapshot, takenAt: event.meta.time } };
    case 'EtcdSnapshotVerificationFailed':
      return event.data.invalid && event.data.snapshot === saves.newest?.name ? { ...saves, newest: null } : saves;
    case 'EtcdSnapshotDeleted':
      return event.data.snapshot === saves.newest?.name ? { ...saves, newest: null } : saves;
    // What was saved before is not what etcd holds now.
    case 'EtcdRestored':
      return { ...saves, newest: null };
    default:
      return saves;
  }
};

/** Whether a step that changes a control plane and begins at `begunAt` must wait for a snapshot: none is younger than the stated age. */
export const needsSnapshot = ({ maxAgeMs, newest }: EtcdSaves, begunAt: string): boolean =>
  newest === null || Date.parse(begunAt) - Date.parse(newest.takenAt) > maxAgeMs;

/** A step on a node, under the name with which a snapshot is taken for it. */
export interface NodeStepBegun {
  readonly node: NodeName;
  readonly requestId: string;
}

/**
 * The step that begins with the event, and changes its node if that is a control plane. Operations of an upgrade and removals have tasks of
 * their own for their snapshot. A drain may take long: a reboot begins again after it.
 */
export const stepBegunIn = (event: StoredEvent): NodeStepBegun | undefined => {
  switch (event.type) {
    case 'ControlPlaneChangeStarted':
      return { node: event.data.node, requestId: `change-${event.data.number}` };
    case 'NodeActionStarted':
    case 'NodeActionDrained': {
      const { action, node, requestId } = event.data;
      const part = event.type === 'NodeActionStarted' ? 'start' : 'reboot';
      return action === 'reboot' ? { node, requestId: `${requestId}-${node}-${part}` } : undefined;
    }
    case 'RemediationRequested': {
      const { action, node, requestId } = event.data;
      return action === 'reboot' ? { node, requestId } : undefined;
    }
    default:
      return undefined;
  }
};
