import {
  type OnCreationFailure,
  CREATION_FAILURE_LENGTH_MAX,
  type CreationFailure,
  type StoredEvent,
  sentenceOf,
  type ClusterUid,
} from '@fairlead/contracts';

/** The creation of a cluster, and what its failure leads to. A plain JSON value. */
export interface Creation {
  readonly uid: ClusterUid;
  readonly onFailure: OnCreationFailure;
  /** The cluster was Ready once: later failures are not failures of its creation. */
  readonly isOver: boolean;
  /** Why it must be cleaned up; null: no cleanup. */
  readonly cleanup: CreationFailure | null;
}

const failed = (creation: Creation, reason: string, message: string): Creation =>
  creation.isOver || creation.onFailure === 'keep'
    ? creation
    : { ...creation, cleanup: { reason, message: message.slice(0, CREATION_FAILURE_LENGTH_MAX) } };

/**
 * The policy at the time of the failure applies: `cleanup` declared afterwards deletes nothing that someone may be
 * examining. `keep` preserves a failed cluster that is paused, because its deletion has not begun.
 */
const declared = (creation: Creation, onFailure: OnCreationFailure = 'keep'): Creation => {
  if (creation.onFailure === onFailure) return creation;
  return { ...creation, onFailure, cleanup: onFailure === 'keep' ? null : creation.cleanup };
};

const withoutCleanup = (creation: Creation): Creation =>
  creation.cleanup === null ? creation : { ...creation, cleanup: null };

/** The creation of a cluster after an event; undefined: no such cluster. */
export const creationAfter = (creation: Creation | undefined, event: StoredEvent): Creation | undefined => {
  if (event.type === 'ClusterRequested') {
    const { uid, spec } = event.data;
    return { uid, onFailure: spec.onFailure ?? 'keep', isOver: false, cleanup: null };
  }
  if (creation === undefined || !('uid' in event.data) || event.data.uid !== creation.uid) return creation;
  switch (event.type) {
    case 'ClusterSpecChanged':
      return declared(creation, event.data.spec.onFailure);
    case 'ClusterRejected':
      return failed(creation, event.data.code, event.data.message);
    case 'ClusterFailed':
      return failed(creation, event.data.reason, sentenceOf(event.data.cause));
    case 'ClusterReady':
      return creation.isOver ? creation : { ...creation, isOver: true };
    case 'ClusterRetryRequested':
    case 'ClusterDeletionRequested':
      return withoutCleanup(creation);
    case 'ClusterDeleted':
      return undefined;
    default:
      return creation;
  }
};
