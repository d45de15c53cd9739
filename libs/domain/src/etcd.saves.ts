import {
  changesNode,
  durationMs,
  SNAPSHOT_MAX_AGE_DEFAULT,
  type NodeName,
  type StoredEvent,
} from '@fairlead/contracts';

/** The etcd snapshots, as far as steps that change a control plane depend on them. */
export interface EtcdSaves {
  /** Maximum age of the newest snapshot when such a step begins. */
  readonly maxAgeMs: number;
  /** The newest snapshot of the current etcd; null: none. */
  readonly newest: { readonly name: string; readonly takenAt: string } | null;
}

const maxAgeOf = (declared: string = SNAPSHOT_MAX_AGE_DEFAULT): number => durationMs(declared);

export const NO_SAVES: EtcdSaves = { maxAgeMs: maxAgeOf(), newest: null };

/** Returns the same object if nothing changes. */
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
    // Earlier snapshots differ from the restored etcd.
    case 'EtcdRestored':
      return { ...saves, newest: null };
    default:
      return saves;
  }
};

/** Whether a control plane change that begins at `begunAt` must wait for a snapshot, because none is recent enough. */
export const needsSnapshot = ({ maxAgeMs, newest }: EtcdSaves, begunAt: string): boolean =>
  newest === null || Date.parse(begunAt) - Date.parse(newest.takenAt) > maxAgeMs;

/** A step on a node, and the name under which its snapshot is taken. */
export interface NodeStepBegun {
  readonly node: NodeName;
  readonly requestId: string;
}

/**
 * The step that begins with the event; it changes a control plane if its node is one. Operations of an upgrade and
 * removals have their own snapshot tasks. A reboot or repair counts from the end of its drain, which may take long.
 */
export const stepBegunIn = (event: StoredEvent): NodeStepBegun | undefined => {
  switch (event.type) {
    case 'ControlPlaneChangeStarted':
      return { node: event.data.node, requestId: `change-${event.data.number}` };
    case 'NodeActionStarted':
    case 'NodeActionDrained': {
      const { action, node, requestId } = event.data;
      const part = event.type === 'NodeActionStarted' ? 'start' : 'reboot';
      return changesNode(action) ? { node, requestId: `${requestId}-${node}-${part}` } : undefined;
    }
    case 'RemediationRequested': {
      const { action, node, requestId } = event.data;
      return action === 'reboot' ? { node, requestId } : undefined;
    }
    default:
      return undefined;
  }
};
