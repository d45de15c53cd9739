import type { ClusterPhase, StoredEvent } from '@fairlead/contracts';

/**
 * The phase of a cluster after an event about it. A cluster that is being deleted stays so until it is gone; one that grows
 * or shrinks stays Provisioned, since it goes on serving.
 */
export const phaseAfter = (phase: ClusterPhase, event: StoredEvent): ClusterPhase => {
  if (phase === 'Deleting') return phase;
  switch (event.type) {
    case 'ClusterRequested':
      return 'Pending';
    case 'ClusterAccepted': // Nothing is requested before its reservations, or its start.
      return event.data.waits === undefined ? 'Provisioning' : phase;
    case 'VmsPlanned':
      return phase === 'Pending' ? 'Provisioning' : phase;
    case 'ClusterRetryRequested': // Nodes that were kept, or a deletion: the cluster goes on serving.
      return phase === 'Provisioned' ? phase : 'Provisioning';
    case 'ClusterRejected':
    case 'ClusterFailed':
      return 'Failed';
    case 'ClusterReady':
      return 'Provisioned';
    case 'ClusterDeletionRequested':
      return 'Deleting';
    default:
      return phase;
  }
};
